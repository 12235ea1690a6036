package factor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// Escaped returns a text that a Go template prints as it is.
func Escaped(text string) string { return strings.ReplaceAll(text, "{{", "{{`{{`}}") }

// EscapedAll escapes all texts of a value.
func EscapedAll(v any) any { return verify.WithTexts(v, Escaped) }

// Phrase returns one template over a member's facts for the texts of several clusters; not ok where
// there is none. A text of only one cluster that has its name becomes a template, too: the next
// cluster has another name.
func (c Clusters) Phrase(texts map[string]string) (out string, ok bool) {
	combinations := []string{"", "n", "e", "t", "ne", "nt", "et", "net"}
	own := 0
	if len(texts) == 1 {
		combinations = []string{"n"}
	} else {
		for cluster := range texts {
			own = len(c[cluster].Own)
		}
	}
	for i := range (own + 1) * len(combinations) { // at first without own words
		facts, word := combinations[i%len(combinations)], i/len(combinations)-1
		seen := map[string]bool{}
		for cluster, text := range texts {
			member := c[cluster]
			text = Escaped(text)
			if word >= 0 {
				text = ReplaceWord(text, member.Own[word].Text, member.Own[word].Template)
			}
			for _, fact := range []struct{ letter, word, template string }{
				{"n", member.Name, "{{ .name }}"}, {"e", member.Environment, "{{ .environment }}"}, {"t", member.Tenant, "{{ .tenant }}"},
			} {
				if strings.Contains(facts, fact.letter) {
					text = ReplaceWord(text, fact.word, fact.template)
				}
			}
			seen[text] = true
		}
		if len(seen) == 1 {
			return slices.Collect(maps.Keys(seen))[0], true
		}
	}
	return "", false
}

// ReplaceWord replaces a word that stands by itself: between hyphens, slashes, or the ends.
func ReplaceWord(text, word, by string) string {
	var b strings.Builder
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 || word == "" {
			b.WriteString(text[from:])
			return b.String()
		}
		i += from
		end := i + len(word)
		if i > 0 && isAlphanumeric(text[i-1]) || end < len(text) && isAlphanumeric(text[end]) {
			b.WriteString(text[from:end])
		} else {
			b.WriteString(text[from:i] + by)
		}
		from = end
	}
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// condition returns a template's condition that holds for some of the clusters, and not for the
// others.
func (c Clusters) condition(some, others []string) string {
	for _, fact := range []struct {
		name string
		of   func(Facts) string
	}{
		{".environment", func(f Facts) string { return f.Environment }},
		{".tenant", func(f Facts) string { return f.Tenant }},
		{".name", func(f Facts) string { return f.Name }},
	} {
		values := map[string]bool{}
		for _, cluster := range some {
			values[fact.of(c[cluster])] = true
		}
		if slices.ContainsFunc(others, func(cluster string) bool { return values[fact.of(c[cluster])] }) {
			continue
		}
		sorted := slices.Sorted(maps.Keys(values))
		if len(sorted) == 1 {
			return fmt.Sprintf("eq %s %q", fact.name, sorted[0])
		}
		return fmt.Sprintf("has %s (list %s)", fact.name, quoted(sorted))
	}
	return "false" // impossible: the names differ
}

func quoted(all []string) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(out, " ")
}

// variant holds the clusters with the same text.
type variant struct {
	text     string
	clusters []string
}

// variants groups the clusters by their texts, the largest group last.
func variants(texts map[string]string) []variant {
	by := map[string][]string{}
	for _, cluster := range slices.Sorted(maps.Keys(texts)) {
		by[texts[cluster]] = append(by[texts[cluster]], cluster)
	}
	var out []variant
	for _, text := range slices.Sorted(maps.Keys(by)) {
		out = append(out, variant{text, by[text]})
	}
	slices.SortStableFunc(out, func(a, b variant) int { return len(a.clusters) - len(b.clusters) })
	return out
}

// Conditional returns the template of texts that no phrase has: with a condition for each of them
// except the text of the most clusters.
func (c Clusters) Conditional(texts map[string]string, separate func(string) string) string {
	all := variants(texts)
	var b strings.Builder
	for i, v := range all {
		switch {
		case len(all) == 1:
		case i == len(all)-1:
			b.WriteString(separate("{{ else }}"))
		default:
			var others []string
			for _, other := range all[i+1:] {
				others = append(others, other.clusters...)
			}
			word := "if"
			if i > 0 {
				word = "else if"
			}
			b.WriteString(separate("{{ " + word + " " + c.condition(v.clusters, others) + " }}"))
		}
		b.WriteString(v.text)
	}
	if len(all) > 1 {
		b.WriteString(separate("{{ end }}"))
	}
	return b.String()
}

package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/labels"
)

// nameKeys are parameters that name a component, and otherKeys parameters that may name it or
// something else, the likelier first.
var (
	nameKeys  = []string{"component", "app", "appName", "application", "addon", "chartName", "addonChart", "service"}
	otherKeys = []string{"chart", "path.basename", "name"}
)

// nameComponents gives each Application its component. For an ApplicationSet it takes the first
// naming that distinguishes its Applications on one cluster, and has the fewest names in all. Such
// a naming is the same on each cluster.
func (m *importer) nameComponents(s *applicationSet, apps []*application) {
	if !slices.ContainsFunc(apps, func(a *application) bool { return labelled(a) == "" }) { // Argosy's own Applications
		for _, a := range apps {
			a.component = labelled(a)
		}
		return
	}
	of, fewest := m.stem, 0
	for _, naming := range m.namings(s) {
		names, taken := map[string]bool{}, map[string]bool{}
		for _, a := range apps {
			name := naming(a)
			key := a.Cluster + "\n" + name
			if name == "" || taken[key] {
				names = nil
				break
			}
			taken[key], names[name] = true, true
		}
		if names != nil && (fewest == 0 || len(names) < fewest) {
			of, fewest = naming, len(names)
		}
	}
	for _, a := range apps {
		a.component = of(a)
	}
}

// labelled returns the component that the Application's label names.
func labelled(a *application) string {
	return manifest.Text(a.metadata, "labels", "argosy.dev/component")
}

// namings returns the ways to name a component, the better first.
func (m *importer) namings(s *applicationSet) []func(*application) string {
	out := []func(*application) string{func(a *application) string { return nameOf(path.Base("/" + manifest.Text(a.source(), "chart"))) }}
	parameters := func(keys []string) {
		for _, key := range keys {
			out = append(out, func(a *application) string { return nameOf(parameter(a.parameters, key)) })
		}
	}
	parameters(nameKeys)
	out = append(out,
		func(a *application) string { // a set that makes one Application on each cluster is one component
			if manifest.Text(a.source(), "chart") != "" {
				return ""
			}
			return m.stemOf(s.name)
		})
	parameters(otherKeys)
	for i := range 6 {
		out = append(out, func(a *application) string {
			parts := strings.Split(path.Clean(manifest.Text(a.source(), "path")), "/")
			if i >= len(parts) {
				return ""
			}
			return nameOf(parts[len(parts)-1-i])
		})
	}
	return append(out, m.stem)
}

// stem returns an Application's name without the names of its cluster and environment.
func (m *importer) stem(a *application) string {
	out := a.Name
	member := m.members[a.Cluster]
	words := []string{a.Cluster}
	if member != nil {
		words = append(words, member.Name, member.Environment)
	}
	for _, word := range words {
		out = trimWord(out, word)
	}
	return nameOf(out)
}

// stemOf returns the name of an ApplicationSet without the names of environments.
func (m *importer) stemOf(name string) string {
	for _, e := range slices.Sorted(maps.Keys(m.environments)) {
		name = trimWord(name, e)
	}
	for _, affix := range []string{"applicationset", "appset", "set"} {
		name = trimWord(name, affix)
	}
	return nameOf(name)
}

// trimWord removes a word at the beginning or the end of a name, unless it is all of it.
func trimWord(name, word string) string {
	if word == "" || name == word {
		return name
	}
	if rest, ok := strings.CutPrefix(name, word+"-"); ok {
		return rest
	}
	return strings.TrimSuffix(name, "-"+word)
}

var unfit = regexp.MustCompile(`[^a-z0-9-]+`)

// nameOf converts a text to a DNS-1123 label, empty if nothing is left of it.
func nameOf(text string) string {
	if labels.IsName(text) {
		return text
	}
	text = strings.Trim(unfit.ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.Trim(text[:min(len(text), 63)], "-")
}

// parameter returns a parameter set's text at a dotted path: nested, or one key.
func parameter(set map[string]any, key string) string {
	if text, ok := set[key].(string); ok {
		return text
	}
	for _, prefix := range []string{"", "values."} {
		if text := manifest.Text(set, strings.Split(prefix+key, ".")...); text != "" {
			return text
		}
		if text, ok := set[prefix+key].(string); ok {
			return text
		}
	}
	return ""
}

// distinguish renames components of several ApplicationSets that meet on a cluster: each is named
// after its ApplicationSet. Two Applications for one component of a cluster are an error.
func (m *importer) distinguish(apps []*application) error {
	sharing := func() map[string][]*application {
		out := map[string][]*application{}
		for _, a := range apps {
			key := a.Cluster + "\n" + a.component
			out[key] = append(out[key], a)
		}
		return out
	}
	rename := map[string]bool{}
	for _, same := range sharing() {
		if len(same) > 1 {
			rename[same[0].component] = true
		}
	}
	for _, a := range apps {
		if !rename[a.component] {
			continue
		}
		if own := nameOf(a.set.name); strings.Contains(own, a.component) || a.set.plain != nil {
			a.component = own
		} else {
			a.component = nameOf(own + "-" + a.component)
		}
	}
	found := sharing()
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if same := found[key]; len(same) > 1 {
			slices.SortFunc(same, func(a, b *application) int { return cmp.Compare(a.Name, b.Name) })
			return m.fail(same[1].set.pos, fmt.Sprintf("Application %q", same[1].Name),
				fmt.Sprintf("is component %q on cluster %q, as Application %q of %s is", same[1].component, same[1].Cluster, same[0].Name, same[0].set.pos),
				"one Application for each component of a cluster: leave one of the ApplicationSets out (--applicationsets FILE)")
		}
	}
	return nil
}

// withoutOwnIntegers removes the Applications of components whose large integer parameters differ
// by cluster. They would be in the template of the ApplicationSet, where a new cluster gets another
// cluster's integers, and no value overrides them.
func (m *importer) withoutOwnIntegers(components map[string][]*application, apps []*application) []*application {
	parametersOf := func(a *application) (all []any) {
		for _, s := range a.sources() {
			list, _ := manifest.At(s, "helm", "parameters").([]any)
			all = append(all, list...)
		}
		return all
	}
	left := map[*application]bool{}
	for _, name := range slices.Sorted(maps.Keys(components)) {
		alike := map[string]int{}
		for _, a := range components[name] {
			for _, p := range parametersOf(a) {
				alike[string(manifest.Canonical(p))]++
			}
		}
		for _, a := range components[name] {
			all := parametersOf(a)
			i := slices.IndexFunc(all, func(p any) bool { return alike[string(manifest.Canonical(p))] < len(components[name]) })
			if i < 0 {
				continue
			}
			left[a] = true
			m.report(a.set.pos, fmt.Sprintf("Application %q", a.Name), fmt.Sprintf("parameter %s is an integer of a million and more, and another one or none on other clusters: as a value, templates print it with an exponent", manifest.Text(all[i], "name")),
				"forceString: true makes it a text, which can be a value")
		}
	}
	isLeft := func(a *application) bool { return left[a] }
	for name, of := range components {
		if components[name] = slices.DeleteFunc(of, isLeft); len(components[name]) == 0 {
			delete(components, name)
		}
	}
	return slices.DeleteFunc(apps, isLeft)
}

package pathpattern

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
)

// Members is the path of member files: a template over .hub, .cluster and optionally .tenant, from
// which the names can be read back. With one hub for all members it has no .hub.
type Members struct {
	text   string
	t      *tmpl.Template
	re     *regexp.Regexp
	parts  []string // with sentinels for the names
	prefix string
	hub    string // of all members, where the path does not name it
}

// NewMembers compiles a path such as fleet/fleet-members/{{ .hub }}/{{ .cluster }}.yaml, with each
// of the two facts exactly once. With {{ .tenant }} as a third, the folder names the member's
// tenant too. If hub is not empty, all members have that hub, and the path does not name it.
func NewMembers(text, hub string) (*Members, error) {
	t, err := tmpl.Parse(problem.Pos{}, text)
	if err != nil {
		return nil, err
	}
	p := &Members{text: text, t: t, hub: hub}
	out, err := p.Path(sentinel("hub"), sentinel("tenant"), sentinel("cluster"))
	if err != nil {
		return nil, err
	}
	if _, err := snapshot.CleanPath(out); err != nil {
		return nil, err
	}
	facts := []string{"cluster"}
	switch names := strings.Contains(out, sentinel("hub")); {
	case hub == "" && !names:
		return nil, fmt.Errorf("%q does not use {{ .hub }}; expected it once, or the key \"hub\" with the name of the only hub", text)
	case hub != "" && names:
		return nil, fmt.Errorf("%q uses {{ .hub }}, and the key \"hub\" says that all members belong to %q; expected one of the two", text, hub)
	case names:
		facts = []string{"hub", "cluster"}
	}
	if strings.Contains(out, sentinel("tenant")) {
		facts = append(facts, "tenant")
	}
	for _, fact := range facts {
		if n := strings.Count(out, sentinel(fact)); n != 1 {
			return nil, fmt.Errorf("%q uses {{ .%s }} %d times; expected once, so that the name can be read from the path", text, fact, n)
		}
	}
	for i, a := range facts {
		for _, b := range facts[:i] {
			if from, to := order(strings.Index(out, sentinel(a)), strings.Index(out, sentinel(b))); !strings.Contains(out[from:to], "/") {
				return nil, fmt.Errorf("%q has {{ .%s }} and {{ .%s }} in one part; expected a slash between them, so that the names can be separated", text, b, a)
			}
		}
	}
	expr := regexp.QuoteMeta(out)
	for _, fact := range facts {
		expr = strings.Replace(expr, regexp.QuoteMeta(sentinel(fact)), "(?P<"+fact+">[^/]+)", 1)
	}
	re, err := regexp.Compile("^" + expr + "$")
	if err != nil {
		return nil, err
	}
	prefix := out[:strings.IndexByte(out, '<')]
	p.re, p.parts, p.prefix = re, strings.Split(out, "/"), prefix[:strings.LastIndexByte(prefix, '/')+1]
	return p, nil
}

func order(a, b int) (int, int) { return min(a, b), max(a, b) }

// String returns the pattern's text.
func (p *Members) String() string { return p.text }

// Path returns the path of a member's file.
func (p *Members) Path(hub, tenant, cluster string) (string, error) {
	return p.t.Execute(map[string]any{"hub": hub, "tenant": tenant, "cluster": cluster})
}

// Tenant reads the tenant's name from a path, if the pattern has it.
func (p *Members) Tenant(path string) (string, bool) {
	m, i := p.re.FindStringSubmatch(path), p.re.SubexpIndex("tenant")
	if m == nil || i < 0 {
		return "", false
	}
	return m[i], true
}

// TenantAbove returns the tenant among whose member files a folder is, "" if the pattern has no
// tenant or the folder is elsewhere.
func (p *Members) TenantAbove(folder string) string {
	parts := strings.Split(folder, "/")
	i := slices.IndexFunc(p.parts, func(part string) bool { return strings.Contains(part, sentinel("tenant")) })
	if i < 0 || i >= len(parts) || !Agree(p.parts[:i], parts) {
		return ""
	}
	return parts[i]
}

// Match reads the hub's and the cluster's name from a path.
func (p *Members) Match(path string) (hub, cluster string, ok bool) {
	if !strings.HasPrefix(path, p.prefix) {
		return "", "", false
	}
	m := p.re.FindStringSubmatch(path)
	if m == nil {
		return "", "", false
	}
	hub = p.hub
	if hub == "" {
		hub = m[p.re.SubexpIndex("hub")]
	}
	return hub, m[p.re.SubexpIndex("cluster")], true
}

// MayBeBelow reports whether member files may be in a folder or below it.
func (p *Members) MayBeBelow(folder string) bool {
	parts := strings.Split(folder, "/")
	return len(parts) < len(p.parts) && Agree(p.parts, parts)
}

// Agree reports whether the parts of a path are those of a sample, as far as both go. A part of the
// sample with a sentinel, such as <tenant>, stands for any name.
func Agree(sample, parts []string) bool {
	for i := range min(len(sample), len(parts)) {
		if sample[i] != parts[i] && !strings.Contains(sample[i], "<") {
			return false
		}
	}
	return true
}

// Folder returns the folder above all member files.
func (p *Members) Folder() string { return strings.TrimSuffix(p.prefix, "/") }

// sentinel returns the value for a name: no path contains it otherwise.
func sentinel(fact string) string { return "<" + fact + ">" }

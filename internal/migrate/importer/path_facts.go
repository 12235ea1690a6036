package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/migrate/factor"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// recognition finds the facts by which paths differ.
type recognition struct {
	*importer
	facts []fact // the first is the component's
}

// fact is a fact by which paths differ.
type fact struct {
	template string
	of       func(*application) string
	// after are names of folders that hold one folder for each value of the fact.
	after []string
}

// pathFacts returns the facts that paths may name, the likelier first. Components go by their name,
// or by the folder of their chart.
func (m *importer) pathFacts(called string) []fact {
	out := []fact{
		{"{{ ." + called + " }}", func(a *application) string {
			if called == "component" {
				return a.component
			}
			return path.Base(cmp.Or(manifest.Text(a.source(), "chart"), manifest.Text(a.source(), "path")))
		}, nil},
		{"{{ .tenant }}", func(a *application) string { return m.members[a.Cluster].Tenant }, []string{"tenant", "tenants", "team", "teams"}},
		{"{{ .environment }}", func(a *application) string { return m.members[a.Cluster].Environment }, []string{"env", "envs", "environment", "environments", "stage", "stages"}},
		{"{{ .cluster }}", func(a *application) string { return m.members[a.Cluster].Name }, []string{"cluster", "clusters", "members"}},
	}
	labels, keys := map[string]map[string]string{}, map[string]bool{}
	for _, c := range m.known {
		labels[m.nameOf(c)] = c.Labels
		for key := range c.Labels {
			keys[key] = !strings.Contains(key, "/")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if keys[key] {
			out = append(out, fact{fmt.Sprintf("{{ dig %q \"none\" .labels }}", key), func(a *application) string { return labels[a.Cluster][key] }, nil})
		}
	}
	return out
}

// templated returns the folder and the file of a list's value file, as templates over the facts of
// all its Applications.
func (r recognition) templated(l list, i int) (dir, file string, err error) {
	parts := make([][]string, len(l))
	one := l[0].valueFiles()[i].Path
	for n, a := range l {
		p := a.valueFiles()[i].Path
		if parts[n] = strings.Split(p, "/"); len(parts[n]) != len(parts[0]) || strings.Contains(p, "{{") {
			return "", "", unkept(fmt.Sprintf("value files %s and %s of %s are not at the same depth", one, p, a.set.subject()))
		}
	}
	var before, after []string
	for j := range parts[0] {
		texts := make([]string, len(l))
		for n := range l {
			texts[n] = parts[n][j]
		}
		text, ok := r.part(l, texts, parts[0][:j])
		switch {
		case !ok:
			return "", "", unkept(fmt.Sprintf("no fact of the clusters says why %s reads %s", l[0].set.subject(), one))
		case len(after) > 0, strings.Contains(text, r.facts[0].template):
			after = append(after, text)
		default:
			before = append(before, text)
		}
	}
	if j := len(before) - 1; len(after) == 0 { // envs/dev/web.yaml
		if text := factor.ReplaceWord(before[j], r.facts[0].of(l[0]), r.facts[0].template); text != before[j] {
			before, after = before[:j], []string{text}
		}
	}
	dir, file = strings.Join(before, "/"), strings.Join(after, "/")
	switch {
	case file == "":
		return "", "", unkept(fmt.Sprintf("value file %s does not name its component, %s", one, l[0].component))
	case strings.Contains(strings.ReplaceAll(file, r.facts[0].template, ""), "{{"):
		return "", "", unkept(fmt.Sprintf("the folder of a component holds the files of several levels, as %s", one))
	case dir == "":
		return "", "", unkept(fmt.Sprintf("value file %s is in no folder but the component's", one))
	}
	return dir, file, nil
}

// part returns the template of one part of a path, given the parts above it.
func (r recognition) part(apps []*application, texts, above []string) (string, bool) {
	same := !slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] })
	equals := func(f fact) bool {
		for i, a := range apps {
			if f.of(a) != texts[i] {
				return false
			}
		}
		return true
	}
	for _, f := range r.facts { // environments/prod and clusters/prod: the folder above says which fact it is
		if len(above) > 0 && slices.Contains(f.after, above[len(above)-1]) && equals(f) {
			return f.template, true
		}
	}
	for i, f := range r.facts {
		if (!same || i == 0) && equals(f) {
			return f.template, true
		}
	}
	if same {
		return texts[0], true
	}
	for _, f := range r.facts { // values-prod.yaml
		text := factor.ReplaceWord(texts[0], f.of(apps[0]), f.template)
		if text != texts[0] && !slices.ContainsFunc(apps, func(a *application) bool {
			return factor.ReplaceWord(texts[slices.Index(apps, a)], f.of(a), f.template) != text
		}) {
			return text, true
		}
	}
	return "", false
}

// folders returns the folders that a level's template stands for, by cluster.
func (r recognition) folders(dir string) map[string]string {
	out := map[string]string{}
	for cluster := range r.members {
		text, a := dir, &application{Application: verify.Application{Cluster: cluster}}
		for _, f := range r.facts[1:] {
			text = strings.ReplaceAll(text, f.template, cmp.Or(f.of(a), "none"))
		}
		out[cluster] = text
	}
	return out
}

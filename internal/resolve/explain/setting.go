package explain

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
)

// versionsLevel is the level of a setting of the versions file.
const versionsLevel = "versions"

// releaseSource returns where a release's chart comes from, each key with its place in the versions
// file.
func releaseSource(r release.Release) *ReleaseSource {
	of := func(value, key string) *Setting {
		if value == "" {
			return nil
		}
		return &Setting{Value: value, Level: versionsLevel, Position: r.Places[key]}
	}
	s := r.Source
	switch {
	case s.RepoURL == "":
		return nil
	case s.Chart != "":
		return &ReleaseSource{
			RepoURL: of(s.RepoURL, "chartRepo"), Chart: of(s.Chart, "ecrChartName"),
			TargetRevision: of(s.TargetRevision, "version"),
		}
	}
	return &ReleaseSource{
		RepoURL: of(s.RepoURL, "chartRepoUrl"), Path: of(s.Path, "chartRepoPath"),
		TargetRevision: of(s.TargetRevision, "chartRepoRevision"),
	}
}

// setting explains the value at a path of a catalog entry. Computed is the result of a template, or
// the default where no level sets a value; empty where the value is used as it is.
func setting(t *hierarchy.Tree, computed string, path ...string) *Setting {
	o, ok := t.Origin(path)
	set := ok && !o.Value.IsNull() && (o.Value.Kind != yamldoc.String || o.Value.Text() != "")
	if !set {
		if computed == "" {
			return nil
		}
		return &Setting{Value: computed}
	}
	if o.Level == "" && !o.Pos.IsZero() { // of no layer: a default of the layout
		o.Level = "layout"
	}
	s := &Setting{Value: o.Value.Any(), Level: o.Level, Position: o.Pos, Over: overridden(t.History(path))}
	if computed != "" {
		s.Value = computed
	}
	return s
}

func overridden(origins []hierarchy.Origin) []Overridden {
	var out []Overridden
	for _, o := range origins {
		out = append(out, Overridden{Value: o.Value.Any(), Level: o.Level, Position: o.Pos})
	}
	return out
}

func layers(all []hierarchy.Layer) []Layer {
	out := []Layer{}
	for _, l := range all {
		out = append(out, Layer{Level: l.Level, Path: l.Path, Present: !l.Missing()})
	}
	return out
}

func label(set labels.Set, key string) Label {
	l := Label{Key: key, Position: set.Origins[key], Live: set.Live(key)}
	if v, ok := set.All[key]; ok {
		l.Value = &v
	}
	return l
}

// selectorKeys returns the labels that a selector names, sorted.
func selectorKeys(n *yamldoc.Node) []string {
	var keys []string
	if m := n.Get("matchLabels"); m.IsMap() {
		for _, f := range m.Fields() {
			keys = append(keys, f.Key)
		}
	}
	if l := n.Get("matchExpressions"); l != nil {
		for _, item := range l.Items() {
			if key := item.Get("key"); key != nil {
				keys = append(keys, key.Text())
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

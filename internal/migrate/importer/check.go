package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// check builds the fleet of the files, and compares its Applications with the Applications of the
// ApplicationSets. It returns how many are equal.
func (m *importer) check(files map[string][]byte, apps []*application) (equal int, err error) {
	all := map[string]*snapshot.File{}
	for name, data := range files {
		all[name] = snapshot.NewFile(name, data, snapshot.MaxFileSize)
	}
	snap := snapshot.New("import", all)
	if m.hasFlags {
		m.findings(snap)
	}
	st, err := fleetstate.Build(nil, snap, m.facts())
	if err != nil {
		return 0, m.invalid(problem.From(err, problem.InvalidLayout, problem.Pos{}))
	}
	if len(st.Problems) > 0 {
		return 0, m.invalid(st.Problems)
	}
	m.noteReplaced(st)
	made := map[string]application{}
	hub := expand.New(expand.Options{State: st, Snapshot: snap, Hub: m.o.Hub, Tools: m.o.Tools})
	var failed error
	hub.Walk(false, func(o *object.Object) bool {
		if !o.Application() {
			return true
		}
		a := application{metadata: manifest.MetadataOf(o.Tree)}
		// As in its template, like the original: with progressive syncs, neither syncs by itself.
		if a.Application, failed = m.reader.Read(o.Unsteered().Tree); failed != nil {
			return false
		}
		made[o.Label("argosy.dev/cluster")+"\n"+o.Label("argosy.dev/component")] = a
		return true
	})
	if failed != nil {
		return 0, failed
	}
	if found := problem.Errors(hub.Problems()); len(found) > 0 {
		return 0, m.invalid(found)
	}
	differs := func(cluster string, pos problem.Pos, name, found string) {
		subject := fmt.Sprintf("Application %q", name)
		m.report(pos, subject, found)
		m.differs[cluster] = append(m.differs[cluster], subject+": "+found)
	}
	for _, a := range apps {
		cluster := m.members[a.Cluster].Name
		key := cluster + "\n" + a.component
		ours, ok := made[key]
		delete(made, key)
		if !ok {
			differs(cluster, a.set.pos, a.Name, fmt.Sprintf("the fleet does not make component %q on cluster %q", a.component, a.Cluster))
			continue
		}
		found := verify.Differences(ours.Application, a.Application)
		for _, key := range []string{"labels", "annotations"} {
			own, was := manifest.Copy(ours.metadata[key]), manifest.Copy(a.metadata[key])
			for _, t := range []tree{own, was} {
				maps.DeleteFunc(t, func(key string, _ any) bool { return strings.HasPrefix(key, "argosy.dev/") })
			}
			if !verify.Equal(own, was) {
				found = append(found, verify.Difference{Path: []string{"metadata", key}, Ours: own, Live: was})
			}
		}
		for _, d := range found {
			differs(cluster, a.set.pos, a.Name, fmt.Sprintf("%s is %s, and was %s", strings.Join(d.Path, "."), verify.Shown(d.Ours, 200), verify.Shown(d.Live, 200)))
		}
		if len(found) == 0 {
			equal++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(made)) {
		cluster, _, _ := strings.Cut(key, "\n")
		differs(cluster, problem.Pos{}, made[key].Name, "no ApplicationSet makes it")
	}
	return equal, nil
}

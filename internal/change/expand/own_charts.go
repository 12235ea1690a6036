package expand

import (
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// ownChart returns the snapshot that holds a source's chart, if this program has it: Argosy's own
// charts at its own version are followed without being fetched. It returns nil for any other
// source.
func ownChart(s source.Source) *snapshot.Snapshot {
	if s.Chart == "" || !charts.IsOwn(s.RepoURL, s.Chart, s.Revision) {
		return nil
	}
	return ownCharts()
}

// ownCharts returns Argosy's charts as a release has them: each a folder, with its dependencies.
var ownCharts = sync.OnceValue(func() *snapshot.Snapshot {
	files := map[string]string{}
	// The walk cannot fail: the charts are embedded.
	_ = fs.WalkDir(charts.Files, ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			data, _ := charts.Files.ReadFile(p)
			files[p] = string(data)
		}
		return err
	})
	for _, dependency := range charts.HubDependencies {
		for p, text := range files {
			if rest, is := strings.CutPrefix(p, dependency+"/"); is {
				files[path.Join("hub/charts", dependency, rest)] = text
			}
		}
	}
	return snapshot.FromMap(files)
})

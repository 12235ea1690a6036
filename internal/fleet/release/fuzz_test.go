package release

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// FuzzVersions: no versions file makes the reader panic; of what is accepted each cluster gets one
// release or a problem, and a label that names no release never gets another one in its place (R3).
func FuzzVersions(f *testing.F) {
	for _, s := range []string{
		"", "releases: []\n", "releases:\n  globals: {a: b}\n  addons: [{type: default, version: 1.0.0}, {type: canary}]\n", "releases: {addons: {type: default}}\n",
		"releases: [{type: default, chartRepo: r, ecrChartName: c, version: 1.10}]\n", "releases: {addons: [{type: [x]}, null, 1]}\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := yamldoc.Parse("versions.yaml", []byte(text))
		if err != nil {
			return
		}
		v, problems := ParseApplicationSets(doc)
		if len(problem.Errors(problems)) == 0 {
			for _, g := range v.Groups() {
				r, err := v.Of(g).Choose(map[string]string{LabelOf(g): "canary"})
				if err == nil && r.Type != "canary" {
					t.Fatalf("%q: group %q on release %q for the label canary", text, g, r.Type)
				}
			}
		}
		_, more := ParseFleetSecrets(doc)
		if n := len(problems) + len(more); n > 4*(problem.OfFile+1) {
			t.Fatalf("%d problems", n)
		}
	})
}

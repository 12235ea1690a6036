package response_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

var update = flag.Bool("update", false, "write the answers into testdata")

// TestViews answers the questions of testdata/views: the archive's comment holds lines `ask NAME
// PARAMETERS`, the answer is want/NAME.json; facts.yaml, if there is one, is what is known of the
// clusters; want/lint are the findings.
func TestViews(t *testing.T) {
	archives, err := filepath.Glob("testdata/views/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { checkArchive(t, path) })
	}
}

func checkArchive(t *testing.T, path string) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files, want, live := fleettest.Tree{}, map[string]string{}, facts.Set{}
	for _, f := range a.Files {
		name, isWant := strings.CutPrefix(f.Name, "want/")
		switch {
		case isWant:
			want[name] = string(f.Data)
		case f.Name == "facts.yaml":
			if live, err = facts.Parse(f.Name, f.Data); err != nil {
				t.Fatal(err)
			}
		default:
			files[f.Name] = string(f.Data)
		}
	}
	st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), live)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{"lint": querytest.Problems(lint.Run(st, expand.Tools{})) + "\n"}
	for line := range strings.Lines(string(a.Comment)) {
		rest, ok := strings.CutPrefix(line, "ask ")
		if !ok {
			continue
		}
		name, parameters, _ := strings.Cut(strings.TrimSpace(rest), " ")
		b, err := response.Bytes(st, querytest.Query(t, parameters))
		if err != nil {
			got[name+".json"] = "error: " + err.Error() + "\n"
			continue
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, b, "", "  "); err != nil {
			t.Fatal(err)
		}
		got[name+".json"] = strings.TrimRight(pretty.String(), "\n") + "\n"
	}
	if !*update {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("run the test with -update if this is meant (-want +got):\n%s", diff)
		}
		return
	}
	kept := a.Files[:0]
	for _, f := range a.Files {
		if !strings.HasPrefix(f.Name, "want/") {
			kept = append(kept, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		kept = append(kept, txtar.File{Name: "want/" + name, Data: []byte(got[name])})
	}
	a.Files = kept
	if err := os.WriteFile(path, txtar.Format(a), 0o600); err != nil {
		t.Fatal(err)
	}
}

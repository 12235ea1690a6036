package scaffold

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

//go:generate go test . -run TestExamples -update

var update = flag.Bool("update", false, "write examples/fleet and examples/minimal again")

// The examples are what init writes, byte for byte (rule 5).
func TestExamples(t *testing.T) {
	t.Parallel()
	for dir, minimal := range map[string]bool{"fleet": false, "minimal": true} {
		d, err := NewFleet(t.Context(), Repository{Folder: t.TempDir(), Findings: findings}, Fleet{
			Installation: Installation{
				Hub: "hub", RepoURL: "https://git.example.com/platform/fleet.git", Revision: "main", Platform: Platform, HubEnvironment: "prod",
				Charts: Charts, Version: charts.Version(), Minimal: minimal,
			},
			Tenant: "shop", Member: "shop-dev-1", Environment: "dev",
		})
		require.NoError(t, err)
		example := filepath.Join("../../../examples", dir)
		if *update {
			require.NoError(t, os.RemoveAll(example))
			require.NoError(t, os.Mkdir(example, 0o755))
			d.Folder = example
			require.NoError(t, d.Write())
		}
		there := map[string]string{}
		err = filepath.WalkDir(example, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			rel, _ := filepath.Rel(example, p)
			there[filepath.ToSlash(rel)] = string(data)
			return err
		})
		require.NoError(t, err)
		assert.Equal(t, d.Files, there, "examples/%s is not what init writes (-init +example); run go generate ./internal/change/scaffold", dir)
		if len(d.Warnings) > 0 {
			t.Errorf("examples/%s: %v", dir, d.Warnings)
		}
	}
}

func findings(st *fleetstate.State) []problem.Problem {
	return lint.Run(st, expand.Tools{Charts: helm.New()})
}

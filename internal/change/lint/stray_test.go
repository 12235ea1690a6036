package lint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// TestStrayFileHintsAtItsNeighbour: a stray file's hint is the part in which it differs from a file
// that is read. Many strays beside many files that are read cost one look at each: this once took
// minutes.
func TestStrayFileHintsAtItsNeighbour(t *testing.T) {
	o := fleettest.Options{Clusters: 500, Components: 5, Tenants: 5, Overrides: 5, Seed: 1}
	files := fleettest.Tree(fleettest.Files(o))
	for i := range 500 {
		files[fmt.Sprintf("addons/elsewhere/%d/values.yaml", i)] = "a: 1\n"
	}
	strays := map[string]string{
		"addons/defaults/addons/component-00/values.yaml":                    `did you mean "component-000"?`,
		"addons/tenants/tenant-00/defaults/addons/component-000/values.yaml": `did you mean "tenant-0"?`,
		"addons/tenants/tenant-00/defaults/addons/component-00/values.yaml":  "", // two parts differ
		"addons/tenants/tenant-0/defaults/addons/other/value.yaml":           "",
	}
	for p := range strays {
		files[p] = "a: 1\n"
	}
	st := querytest.Build(t, files)
	began := time.Now()
	problems := lint.Run(st, expand.Tools{})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	for _, p := range problems {
		want, isStray := strays[p.Pos.File]
		if !isStray {
			continue
		}
		delete(strays, p.Pos.File)
		assert.Equal(t, want, strings.Join(p.Hints, " "), "%s", p.Pos.File)
	}
	for p := range strays {
		t.Errorf("%s is not reported", p)
	}
}

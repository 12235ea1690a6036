package generator

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A stray file's hint is the part in which it differs from a file that is read. Many strays beside many files that are
// read cost one look at each: this once took minutes.
func TestNearestPaths(t *testing.T) {
	reachable := map[string]bool{"addons/defaults/addons/web/values.yaml": true, "addons/tenants/retail/defaults/addons/web/values.yaml": true}
	var strays []string
	for i := range 100_000 {
		reachable[fmt.Sprintf("addons/tenants/t/clusters/cluster-%06d/addons/web/values.yaml", i)] = true
	}
	for i := range 500 {
		strays = append(strays, fmt.Sprintf("addons/elsewhere/%d/values.yaml", i))
	}
	for p, want := range map[string]string{
		"addons/defaults/addons/wbe/values.yaml":                 `did you mean "web"?`,
		"addons/tenants/retial/defaults/addons/web/values.yaml":  `did you mean "retail"?`,
		"addons/tenants/retial/defaults/addons/wbe/values.yaml":  "", // two parts differ
		"addons/tenants/retail/defaults/addons/redis/value.yaml": "",
	} {
		var hints []string
		if want != "" {
			hints = []string{want}
		}
		began := time.Now()
		if got := nearestPaths(append(slices.Clone(strays), p), reachable)[p]; !slices.Equal(got, hints) {
			t.Errorf("%s: %v, want %v", p, got, hints)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("took %s", took)
		}
	}
}

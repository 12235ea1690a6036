package facts_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

var reportedAt = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// TestReportsComeBack: what an agent reports is what its hub reads, sorted, whatever is in a
// version.
func TestReportsComeBack(t *testing.T) {
	t.Parallel()
	dns := facts.ComponentReport{Component: "dns", Version: "1.0.0", Health: "Healthy", Digest: "0a1b2c3d"}
	odd := facts.ComponentReport{Component: "web", Version: "a|b%zz \"]<ü>;1", Health: "Degraded", Digest: "0a1b2c3d"}
	missing := facts.ComponentReport{Component: "web-2", Health: "Missing"}
	for _, all := range [][]facts.ComponentReport{nil, {dns}, {missing, odd, dns}} {
		link := facts.SealReport(facts.FormatReport(all), reportedAt)
		if n := strings.Count(link, "|"); n != 1 || strings.Contains(link, "%") {
			t.Errorf("%q is no link with a title", link)
		}
		report, at, isReport, err := facts.OpenReport(link)
		if err != nil || !isReport || !at.Equal(reportedAt) || report != facts.FormatReport(all) {
			t.Errorf("%q, %s, %t, %v", report, at, isReport, err)
		}
		a := facts.Application{Report: report}
		for _, want := range all {
			is, isListed := a.Reported(want.Component)
			assert.Equal(t, want, is)
			assert.Equal(t, true, isListed)
		}
		if _, isListed := a.Reported("we"); isListed {
			t.Error("a component is reported by a part of its name")
		}
	}
	assert.Equal(t, "web is Degraded, web-2 is Missing", facts.Application{Report: facts.FormatReport([]facts.ComponentReport{missing, odd, dns})}.Unhealthy())
	assert.Equal(t, "", facts.Application{}.Unhealthy())
}

// TestLongReportIsCut: a group of any size fits into an annotation, and what is left out is not
// reported.
func TestLongReportIsCut(t *testing.T) {
	t.Parallel()
	var all []facts.ComponentReport
	for i := range 10_000 {
		all = append(all, facts.ComponentReport{Component: fmt.Sprintf("component-%05d", i), Version: "v1.2.3", Health: "Healthy", Digest: "0a1b2c3d"})
	}
	for n, most := range map[int]int{100: 6_000, len(all): 50_000} {
		link := facts.SealReport(facts.FormatReport(all[:n]), reportedAt)
		report, _, _, err := facts.OpenReport(link)
		if err != nil || len(link) > most {
			t.Errorf("%d components take %d bytes: %v", n, len(link), err)
		}
		_, isFirst := facts.Application{Report: report}.Reported(all[0].Component)
		_, isLast := facts.Application{Report: report}.Reported(all[n-1].Component)
		if !isFirst || isLast != (n == 100) {
			t.Errorf("of %d components the first is listed: %t, the last: %t", n, isFirst, isLast)
		}
	}
}

// TestDamagedReportsAreNone: a report that is cut off or changed anywhere is never read as another
// one.
func TestDamagedReportsAreNone(t *testing.T) {
	t.Parallel()
	link := facts.SealReport(facts.FormatReport([]facts.ComponentReport{{Component: "dns", Version: "1.0.0", Health: "Healthy", Digest: "0a1b2c3d"}}), reportedAt)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range link {
		changed := []byte(link)
		changed[i] ^= byte(1 + r.IntN(127))
		for _, text := range []string{link[:i], string(changed), link[:i] + link[i+1:]} {
			if report, _, isReport, err := facts.OpenReport(text); report != "" || isReport != (err != nil) {
				t.Errorf("%q is read as %q, %v", text, report, err)
			}
		}
	}
	later := strings.Replace(link, "report-1;", "report-2;", 1)
	if _, _, isReport, err := facts.OpenReport(later); !isReport || err == nil || !strings.Contains(err.Error(), "format") {
		t.Errorf("a later format: %t, %v", isReport, err)
	}
}

func FuzzReport(f *testing.F) {
	f.Add("dns", "1.0.0", "")
	f.Add("dns\xff", "|%", "components as the member reports them|https://")
	f.Fuzz(func(t *testing.T, component, version, link string) {
		_, _, _, _ = facts.OpenReport(link)
		text := facts.FormatReport([]facts.ComponentReport{{Component: component, Version: version, Health: "Healthy"}})
		report, _, isReport, err := facts.OpenReport(facts.SealReport(text, reportedAt))
		if !isReport || err != nil || report != text {
			t.Errorf("%q is read as %q: %v", text, report, err)
		}
		_, _ = facts.Application{Report: link}.Reported(component)
		_ = facts.Application{Report: link}.Unhealthy()
	})
}

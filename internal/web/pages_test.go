package web_test

import (
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// A new user sees which clusters run which version, which one differs, and why, by file and line.
func TestWhyHasPlaces(t *testing.T) {
	t.Parallel()
	server := site(t, wide(t))
	matrix := get(t, server, secret, "/").body
	for _, want := range []string{">0.9.0<", "differs: most of prod has 1.0.0", "broken", "draining", "2 versions"} {
		assert.Contains(t, matrix, want, "the matrix")
	}
	why := strings.ReplaceAll(get(t, server, secret, "/why?cluster=four&group=addons&component=dns").body, "<wbr>", "")
	for _, want := range []string{
		"four &lt;b&gt;&amp;", "https://github.com/example/fleet/blob/2222222222222222222222222222222222222222/addons/tenants/retail/clusters/four/addons/dns/values.yaml#L1",
		"addons/defaults/addons/dns/values.yaml:1",
	} {
		assert.Contains(t, why, want, "the page")
	}
	held := strings.ReplaceAll(get(t, server, secret, "/held").body, "<wbr>", "")
	for _, want := range []string{"fleet/fleet-members/hub/two.yaml:1", "a commit fixes the file", "2026-11-23T11:00:00Z", "the lifecycle in the member&#39;s file changes", "fleet/fleet-members/hub-2/laboratory.yaml:1"} {
		assert.Contains(t, held, want, "held back")
	}
	get(t, server, secret, "/held?reason=draining").is(t, 200, "held by draining", "laboratory")
	if text := get(t, server, secret, "/held?reason=draining").body; strings.Contains(text, "tenannt") {
		t.Error("held by draining shows a broken member")
	}
	get(t, server, secret, "/why?cluster=two&group=addons&component=dns").is(t, 200, "a held component", "tenannt", "a commit fixes the file", `href="/held?reason=broken"`)
	get(t, server, secret, "/cluster?cluster=laboratory").is(t, 200, "a held cluster", "the member drains", "the lifecycle in the member&#39;s file changes")
	if text := get(t, server, secret, "/why?cluster=one&group=addons&component=dns").body; strings.Contains(text, "tag held") {
		t.Error("a component that is not held shows a hold")
	}
}

// Version, sync and health are those that the engine reports now. What it reported once is not
// shown while nobody reports.
func TestRunningIsWhatTheEngineReports(t *testing.T) {
	t.Parallel()
	f, live := wide(t), overview.Live{}
	server := site(t, f, func(o *web.Options) { o.Live = func() overview.Live { return live } })
	for want, status := range map[string]overview.Status{
		`class="run good"`:                    {Version: "1.0.0", Sync: "Synced", Health: "Healthy"},
		`</span>runs 0.8.0<`:                  {Version: "0.8.0", Sync: "Synced", Health: "Healthy"},
		`class="run bad"`:                     {Version: "1.0.0", Sync: "OutOfSync", Health: "Degraded"},
		`</span>Progressing, OutOfSync`:       {Version: "1.0.0", Sync: "OutOfSync", Health: "Progressing"},
		`title="the engine cannot see the`:    {Version: "1.0.0", Sync: "Unknown", Health: "Healthy"},
		`title="not reported since yesterday`: {Version: "1.0.0", Sync: "Synced", Health: "Healthy"},
	} {
		live = overview.Live{Status: func(name string) (overview.Status, bool) { return status, name == "dns-three" }}
		if strings.Contains(want, "yesterday") {
			live.Silent = "not reported since yesterday"
		}
		body := get(t, server, secret, "/?q=three").body
		row, _, _ := strings.Cut(body, "</tbody>")
		if !strings.Contains(row, want) || strings.Contains(row, `class="run good"`) != (want == `class="run good"`) {
			t.Errorf("%+v: the row lacks %q: %s", status, want, row)
		}
	}
}

// What an agent's engine runs is what its service reports by the ownership grant. A report that
// does not count any more is not shown, and a hostile one is text.
func TestRunningOfAnAgentIsWhatItsServiceReports(t *testing.T) {
	t.Parallel()
	f, live := wide(t), overview.Live{}
	server := site(t, f, func(o *web.Options) { o.Live = func() overview.Live { return live } })
	files := wideFiles().With(fleettest.Tree{fleettest.Member("three"): fleettest.Spoke("three", "use_remote_argo: true\nenable_remote_addons: true\n")})
	report := func(version, health string) facts.Application {
		return facts.Application{
			Name: "grant-addons-three", Cluster: "three", Group: "addons", Grant: true,
			Report: facts.FormatReport([]facts.ComponentReport{{Component: "dns", Version: version, Health: health}}),
		}
	}
	silent := report("1.0.0", "Healthy")
	silent.Unheard = "its service has reported nothing since 2026-11-23 10:00:00 UTC"
	for want, grant := range map[string]facts.Application{
		`class="run good"`:                                             {},
		`</span>runs 0.8.0<`:                                           report("0.8.0", "Healthy"),
		`</span>runs &lt;b&gt;, Degraded`:                              report("<b>", "Degraded"),
		`</span>Degraded<`:                                             report("1.0.0", "Degraded"),
		`</span>not there yet<`:                                        report("", "Missing"),
		`has reported nothing since 2026-11-23 10:00:00 UTC"`:          silent,
		`title="the member&#39;s own engine runs it, and does not rep`: {Name: "grant-addons-three", Cluster: "three", Group: "addons", Grant: true},
		`title="the member&#39;s own engine runs it, and its service`:  {Name: "grant-addons-three", Grant: true, Report: facts.FormatReport(nil)},
		`title="the cluster&#39;s API server does not respond: dial`:   report("1.0.0", "Healthy"),
	} {
		live = overview.Live{}
		if grant.Name == "" {
			grant = report("1.0.0", "Healthy")
		}
		if strings.Contains(want, "dial") {
			live.Unreachable = func(string) (time.Time, string) { return now, "dial" }
		}
		f.serve(t, "3333333333333333333333333333333333333333", files, facts.NewSet(false, facts.Cluster{Name: "three", Address: "https://three"}).WithApplications(grant))
		for _, page := range []string{"/?q=three", "/cluster?cluster=three"} {
			body, _, _ := strings.Cut(get(t, server, secret, page).body, "</tbody>")
			if !strings.Contains(body, want) || strings.Contains(body, `class="run good"`) != (want == `class="run good"`) {
				t.Errorf("%s lacks %q: %s", page, want, body)
			}
		}
	}
}

// Two clusters, the outliers and a search each say what differs, with both places.
func TestDifferencesHavePlaces(t *testing.T) {
	t.Parallel()
	server := site(t, wide(t))
	const own, system = "addons/tenants/retail/clusters/four/addons/dns/values.yaml", "addons/defaults/addons/dns/values.yaml"
	for path, want := range map[string][]string{
		"/compare?a=one&b=hub/four":     {"0.9.0", "1.0.0", "from", "replicas", "not set", own, system},
		"/compare?a=hub/three&b=three":  {"No difference"},
		"/outliers":                     {"0.9.0", "6 of 7 in prod", "<b>edge</b> of addons"},
		"/outliers?tenant=bank":         {"Every cluster has the version of its environment"},
		"/find?path=from":               {own, system, ">system<", "this is it"},
		"/find?path=replicas":           {">3<", own},
		"/find?path=nosuch":             {"Nobody sets it"},
		"/find?path=from&environment=x": {"Nobody sets it"},
	} {
		body := strings.ReplaceAll(get(t, server, secret, path).body, "<wbr>", "")
		for _, text := range want {
			assert.Contains(t, body, text, "%s", path)
		}
	}
	if r := get(t, server, retail, "/outliers"); strings.Contains(r.body, "edge") {
		t.Error("a token of a tenant cannot know that no cluster has a release")
	}
}

// What is not heard any more is called unknown, with the time, on every page.
func TestSilenceIsUnknown(t *testing.T) {
	t.Parallel()
	since := now.Add(-5 * time.Minute)
	for name, c := range map[string]struct {
		change func(*refresh.Status)
		want   []string
	}{
		"current": {func(*refresh.Status) {}, []string{`data-state="current"`, `class="run there"`}},
		"source": {func(s *refresh.Status) {
			s.Refused = []refresh.Refusal{{Cause: refresh.Source, Since: since, Problem: "no route"}}
		}, []string{
			`data-state="unknown"`, "cannot be read since 2026-11-23 11:55:00 UTC",
		}},
		"commit": {func(s *refresh.Status) {
			s.Refused = []refresh.Refusal{{Cause: refresh.Commit, Since: since, Problem: "broken"}}
		}, []string{`data-state="behind"`, "refused since 2026-11-23 11:55:00 UTC"}},
		"facts": {func(s *refresh.Status) {
			s.Refused = []refresh.Refusal{{Cause: refresh.Facts, Since: since, Problem: "API server"}}
		}, []string{
			`data-state="unknown"`, `title="what runs cannot be read since 2026-11-23 11:55:00 UTC"`,
		}},
		"nothing": {func(s *refresh.Status) { s.LastSuccess = now.Add(-time.Hour) }, []string{`data-state="unknown"`, "nothing heard of the repository"}},
	} {
		f := wide(t)
		c.change(&f.status)
		server := site(t, f)
		body := get(t, server, secret, "/").body
		for _, want := range c.want {
			assert.Contains(t, body, want, "%s: the page", name)
		}
		if strings.Contains(body, `data-state="current"`) != (name == "current") {
			t.Errorf("%s: current", name)
		}
		if text := get(t, server, retail, "/held").body; strings.Contains(text, "no route") || strings.Contains(text, "API server") {
			t.Errorf("%s: a restricted token sees the text", name)
		}
	}
	empty := site(t, &fleet{})
	get(t, empty, secret, "/").is(t, http.StatusServiceUnavailable, "", "no state of the repository yet")
}

// Each text colour of both themes has a contrast of at least 4.5:1 on each ground (WCAG 2.2, AA).
func TestPaletteHasContrast(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("../base/planpage/argosy.css")
	require.NoError(t, err)
	colour := regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`)
	light, dark, _ := strings.Cut(string(css), "prefers-color-scheme: dark")
	for theme, text := range map[string]string{"light": light, "dark": dark} {
		palette := map[string]float64{}
		for _, m := range colour.FindAllStringSubmatch(text, -1) {
			palette[m[1]] = luminance(t, m[2])
		}
		check := func(text, ground string) {
			a, b := palette[text]+.05, palette[ground]+.05
			if ratio := math.Max(a, b) / math.Min(a, b); ratio < 4.5 || math.IsNaN(ratio) {
				t.Errorf("%s: --%s on --%s has %.2f:1", theme, text, ground, ratio)
			}
		}
		for _, ground := range []string{"ground", "panel", "raised", "tint"} {
			for _, text := range []string{"text", "muted", "link", "good", "warn", "bad"} {
				check(text, ground)
			}
		}
		check("on-accent", "accent")
		for _, ground := range []string{"warn", "good", "bad"} {
			check("panel", ground)
		}
	}
}

func luminance(t *testing.T, hex string) (out float64) {
	t.Helper()
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		out += weight * c
	}
	return out
}

// The page of a large fleet has at most a page of clusters, and links to the others.
func TestMatrixHasPages(t *testing.T) {
	t.Parallel()
	f := &fleet{}
	f.serve(t, "1", fleettest.Files(fleettest.Options{Clusters: 120, Components: 20, Tenants: 5, Overrides: 1, Seed: 1}), facts.Set{})
	server := site(t, f)
	first, third := get(t, server, secret, "/").body, get(t, server, secret, "/?page=3&by=tenant").body
	if n := strings.Count(first, `<th scope="row">`); n != 50 || !strings.Contains(first, "Page 1 of 3") || !strings.Contains(first, `href="?page=2"`) {
		t.Errorf("%d rows", n)
	}
	if n := strings.Count(third, `<th scope="row">`); n != 21 || !strings.Contains(third, `href="?by=tenant&amp;page=2"`) {
		t.Errorf("%d rows", n)
	}
	if r := get(t, server, secret, "/?q=cluster-00077"); strings.Count(r.body, `<th scope="row">`) != 1 {
		t.Error("the search finds something else")
	}
	for _, bad := range []string{"/?nosuch=1", "/?q=a&q=b", "/cluster?cluster=cluster-0007", "/why?cluster=cluster-00077&group=addons&component=component-00", "/component?group=addons&component=x", "/nosuch", "/assets/nosuch"} {
		if r := get(t, server, secret, bad); r.code != 404 && r.code != 400 || !strings.Contains(r.body, "<h1>") {
			t.Errorf("%s: %d %s", bad, r.code, r.body)
		}
	}
}

// A cell of a cluster whose API server hangs is unknown, and says since when without a pointer that
// hovers; the pages of the cluster and of the component say why.
func TestSilentClusterSaysSinceWhen(t *testing.T) {
	t.Parallel()
	st := &fleet{}
	st.serve(t, "1", fleettest.Small(), facts.NewSet(false, facts.Cluster{Name: "one", Address: "https://one.example.com"}).WithApplications(
		facts.Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns"}, facts.Application{Name: "dns-two", Cluster: "two", Group: "addons", Component: "dns"}))
	server := site(t, st, func(o *web.Options) {
		o.Live = func() overview.Live {
			return overview.Live{
				Status: func(string) (overview.Status, bool) {
					return overview.Status{Version: "1.0.0", Sync: "Synced", Health: "Healthy"}, true
				},
				Unreachable: func(string) (time.Time, string) { return now, "no response in time" },
			}
		}
	})
	never := site(t, st, func(o *web.Options) {
		o.Live = func() overview.Live {
			return overview.Live{Unreachable: func(string) (time.Time, string) { return time.Time{}, "no response in time" }}
		}
	})
	for server, want := range map[*httptest.Server]map[string]string{
		server: {"one": "<dd>does not respond: no response in time</dd>", "two": "<dd>not probed: the engine&#39;s word counts</dd>"},
		never:  {"one": "<dd>no response in time; it has not responded to this service yet. If only the engine reaches it, set externalSecret.probe: false</dd>"},
	} {
		for cluster, text := range want {
			if r := get(t, server, secret, "/cluster?cluster="+cluster); !strings.Contains(r.body, text) {
				t.Errorf("%s: no %s in %s", cluster, text, r.body)
			}
		}
	}
	const since = `<small>since <time datetime="2026-11-23T12:00:00Z">`
	for path, detail := range map[string]string{"/?q=one": "", "/cluster?cluster=one": "", "/why?cluster=one&group=addons&component=dns": "API server does not respond: no response in time"} {
		if r := get(t, server, secret, path); !strings.Contains(r.body, "run unknown") || !strings.Contains(r.body, since) || !strings.Contains(r.body, detail) {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	if r := get(t, server, secret, "/cluster?cluster=two"); strings.Contains(r.body, "run unknown") || !strings.Contains(r.body, "healthy") {
		t.Errorf("a cluster of which no address is known: %s", r.body)
	}
}

// TestAssetsOfOtherVersionsAreNotKept: during an update, requests for the assets of another version
// reach a replica, which has its own alone.
func TestAssetsOfOtherVersionsAreNotKept(t *testing.T) {
	t.Parallel()
	server := site(t, wide(t))
	own := regexp.MustCompile(`/assets/argosy\.css\?v=[0-9a-f]+`).FindString(get(t, server, secret, "/").body)
	if r := get(t, server, "", own); r.code != 200 || !strings.Contains(r.header.Get("Cache-Control"), "max-age") {
		t.Fatalf("%s: %d %q", own, r.code, r.header.Get("Cache-Control"))
	}
	for _, path := range []string{"/assets/argosy.css?v=000000000000", "/assets/argosy.css"} {
		if r := get(t, server, "", path); r.code != 200 || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %q", path, r.code, r.header.Get("Cache-Control"))
		}
	}
}

// TestPanicOfAPageIsAnError: a page that panics is 500, for browsers and for scripts.
func TestPanicOfAPageIsAnError(t *testing.T) {
	t.Parallel()
	server := site(t, wide(t), func(o *web.Options) {
		o.Logger = slog.New(slog.DiscardHandler)
		o.Live = func() overview.Live { panic("boom") }
	})
	for _, path := range []string{"/", "/api/v1/matrix"} {
		if r := get(t, server, secret, path); r.code != 500 || !strings.Contains(r.body, "internal error; see the service&#39;s log") && !strings.Contains(r.body, "internal error; see the service's log") {
			t.Errorf("%s: %d %.200s", path, r.code, r.body)
		}
	}
}

package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A reader signs in, filters, follows a version to its reasons, and comes back to the same filter.
func TestReaderFindsOutWhy(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	b := open(t, s)
	b.signIn("/held")
	b.at("/held")
	b.shows("Nothing is held")
	b.visit("/")
	b.shows("16 clusters")
	b.do(chromedp.SetValue(chromedp.CSS("select[name=tenant]"), "payments"))
	b.at("/?tenant=payments")
	b.shows("of 16 clusters")
	b.follow(`a[href^="/why"][href*="payments-prod-eu-1"][href*="cert-manager"]`)
	b.shows("cert-manager on payments-prod-eu-1")
	b.shows("v1.19.1")
	b.leave("history.back()")
	b.at("/?tenant=payments")
	b.follow(`a[href^="/component"]`)
	b.shows("version")
}

// A newcomer finds out in a few clicks, without a word of documentation, which clusters run which
// version of a component, why one differs, and what is held back.
func TestNewcomerFindsOutInAMinute(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.write(t, "fleet/fleet-members/hub-eu/payments-dev-eu-1.yaml", "clusterName: payments-dev-eu-1\ntenant: payments\nenvironment: dev\ntenannt: x\n")
	b := open(t, s)
	began := time.Now()
	b.signIn("/")
	b.shows("A version opens the reasons for it")
	b.follow(`thead a[href*="component=cert-manager"]`)
	b.shows("2 versions on 16 clusters")
	versions := value[[]string](b, `[...document.querySelectorAll("section.card")].map((e) => e.innerText.replaceAll("\n", " "))`)
	if len(versions) != 2 || !strings.HasPrefix(versions[0], "v1.20.2 14 clusters") || !strings.Contains(versions[0], "retail-prod-eu-1") || !strings.HasPrefix(versions[1], "v1.19.1 2 clusters") {
		t.Errorf("which clusters run which version: %q", versions)
	}
	b.follow(`section:last-of-type a[href*="cluster=payments-prod-eu-1"]`)
	b.shows("at version v1.19.1")
	const row = `[...document.querySelectorAll("tr")].find((e) => e.querySelector("th code")?.innerText === "chart.version").innerText.replaceAll("\n", "")`
	if why := value[string](b, row); !strings.Contains(why, "v1.19.1") || !strings.Contains(why, "v1.20.2") || strings.Count(why, ".yaml:") < 2 {
		t.Errorf("why one differs: %q", why)
	}
	b.follow(`nav[aria-label=Pages] a[href="/held"]`)
	b.shows("tenannt")
	b.shows("fleet/fleet-members/hub-eu/payments-dev-eu-1.yaml:4")
	b.shows("a commit fixes the file")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// The keyboard alone gets everywhere: past the header, to the search, from cell to cell.
func TestKeyboardGetsEverywhere(t *testing.T) {
	t.Parallel()
	b := open(t, serve(t, nil))
	b.signIn("/")
	active := func() string {
		return value[string](b, `document.activeElement.getAttribute("href") || document.activeElement.name || document.activeElement.tagName`)
	}
	b.do(chromedp.KeyEvent("\t"))
	if got := active(); got != "#main" {
		t.Errorf("the first stop is %q", got)
	}
	b.do(chromedp.KeyEvent("/"))
	if got := active(); got != "q" {
		t.Errorf("a slash goes to %q", got)
	}
	b.do(chromedp.Focus(chromedp.CSS("tbody th a")), chromedp.KeyEvent(kb.ArrowDown))
	if got := active(); !strings.Contains(got, "analytics-prod-eu-1") {
		t.Errorf("down goes to %q", got)
	}
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	if got := active(); !strings.HasPrefix(got, "/why") {
		t.Errorf("right goes to %q", got)
	}
	b.do(chromedp.KeyEvent("\r"))
	b.shows("Chart and switches")
}

// Without JavaScript the same reader gets as far.
func TestWithoutJavaScript(t *testing.T) {
	t.Parallel()
	b := open(t, serve(t, nil), noScripts())
	b.do(chromedp.Navigate(b.address+"/"), chromedp.WaitVisible(chromedp.CSS("form.signin")), chromedp.SendKeys(chromedp.CSS("input[name=token]"), token), chromedp.Click(chromedp.CSS("form.signin button")), chromedp.WaitVisible(chromedp.CSS("table.matrix")))
	b.do(chromedp.SendKeys(chromedp.CSS("input[name=q]"), "retail-prod"), chromedp.Click(chromedp.CSS(".filters button")))
	b.until("new URLSearchParams(location.search).get('q') === 'retail-prod' && " + loaded)
	b.shows("retail-prod-us-1")
	b.do(chromedp.Click(chromedp.CSS(`td a[href*="external-dns"]`)), chromedp.WaitVisible(chromedp.CSS("ol.layers")))
	for _, path := range views {
		b.visit(path)
		if text, err := chromedp.Run(b, chromedp.Text(chromedp.CSS("main"))); err != nil || len(text) < 40 {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	b.visit("/")
	b.do(chromedp.Click(chromedp.CSS("form[action='/signout'] button")), chromedp.WaitVisible(chromedp.CSS("form.signin")))
}

// No page is wider than the window: on a phone, a tablet and a small laptop.
func TestPagesFit(t *testing.T) {
	t.Parallel()
	b := open(t, serve(t, nil))
	b.signIn("/")
	for _, width := range []int64{390, 820, 1280} {
		b.do(chromedp.EmulateViewport(width, 844))
		for _, path := range views {
			b.visit(path)
			if page, shown := value[int](b, "document.documentElement.scrollWidth"), value[int](b, "window.innerWidth"); page > shown {
				t.Errorf("%s is %d wide in a window of %d", path, page, shown)
			}
		}
	}
}

// A commit shows on an open page without a reload by the reader; a broken file shows as held back.
func TestCommitShows(t *testing.T) {
	t.Parallel()
	b := open(t, serve(t, nil))
	b.signIn("/cluster?hub=hub-eu&cluster=retail-dev-eu-1")
	b.shows("1.20.0")
	b.write(t, "addons/tenants/retail/clusters/retail-dev-eu-1/application-sets/addons.yaml", "components:\n  external-dns:\n    chart: {version: 1.99.9}\n")
	b.shows("1.99.9")
	b.write(t, "fleet/fleet-members/hub-eu/retail-dev-eu-1.yaml", "clusterName: retail-dev-eu-1\ntenant: retail\nenvironment: dev\ntenannt: x\n")
	b.shows("broken")
	b.visit("/held")
	b.shows("fleet/fleet-members/hub-eu/retail-dev-eu-1.yaml:4")
}

// A push shows on an open page within three seconds, by an event: the page does not load again, and
// keeps what the reader has scrolled to.
func TestPushShows(t *testing.T) {
	t.Parallel()
	location, push := gitFleet(t)
	s := serve(t, nil, "--source", location, "--interval", "1h")
	b := open(t, s)
	b.signIn("/")
	b.shows("16 clusters")
	b.until("document.body.dataset.events === 'open'")
	value[bool](b, "(window.marked = true) && (document.querySelector('.scroll').scrollLeft = 40) > 0")
	push(s, "addons/tenants/retail/clusters/retail-dev-eu-1/application-sets/addons.yaml", "components:\n  external-dns:\n    chart: {version: 1.99.9}\n")
	pushed := time.Now()
	b.shows("1.99.9")
	t.Logf("the push shows after %s", time.Since(pushed)) // the goal is 3 s; a busy machine may take longer
	if !value[bool](b, "window.marked === true && document.querySelector('.scroll').scrollLeft === 40") {
		t.Error("the page has been loaded again, or has lost its place")
	}
	b.visit("/timeline")
	b.shows("change addons.yaml")
	b.shows("Jo Doe, ")
}

// What an engine reports shows without a commit: a component that is degraded, and one that is not
// heard of any more.
func TestStatusShows(t *testing.T) {
	t.Parallel()
	const app = "external-dns-retail-dev-eu-1"
	h := newHub(t, []string{"retail-dev-eu-1"}, map[string]application{app: {"retail-dev-eu-1", "1.20.0", "Synced", "Healthy"}})
	b := open(t, serve(t, nil, "--facts", "kubernetes", "--kubeconfig", h.kubeconfig(t)))
	b.signIn("/why?hub=hub-eu&cluster=retail-dev-eu-1&group=addons&component=external-dns")
	b.shows("healthy")
	h.set(app, application{"retail-dev-eu-1", "1.20.0", "Synced", "Degraded"})
	b.shows("Degraded")
	h.set(app, application{"retail-dev-eu-1", "1.20.0", "Unknown", "Healthy"})
	b.until("document.querySelector('.facts .run.unknown') !== null")
}

// When the service is silent, the open page says so by itself, and its state is unknown.
func TestSilentServiceIsUnknown(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	b := open(t, s)
	b.signIn("/")
	b.shows("current")
	if err := s.process.Kill(); err != nil {
		t.Fatal(err)
	}
	b.until("document.body.classList.contains('silent') && document.querySelector('#fresh .word').textContent === 'unknown'")
}

// A fleet without members says what is missing.
func TestEmptyFleet(t *testing.T) {
	t.Parallel()
	b := open(t, serve(t, map[string]string{"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n"}))
	b.signIn("/")
	b.shows("no member file")
}

// A fleet that cannot be computed says what to fix, by file and line, in place of every view, with
// JavaScript off, too; the page is there by itself as soon as it is fixed.
func TestBrokenFleetSaysWhatToFix(t *testing.T) {
	t.Parallel()
	const layout = "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n"
	s := serve(t, map[string]string{"fleet/layout.yaml": layout + "groupz: {}\n"})
	plain := open(t, s, noScripts())
	plain.signIn("/")
	for _, path := range []string{"/", "/held", "/rollouts", "/calendar", "/outliers", "/timeline", "/plan", "/compare", "/find"} {
		plain.visit(path)
		if text, err := chromedp.Run(plain, chromedp.Text(chromedp.CSS("main"))); err != nil || !strings.Contains(text, "fleet/layout.yaml:3") || !strings.Contains(text, "groupz") {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	b := open(t, s)
	b.signIn("/")
	b.shows("groupz")
	s.write(t, "fleet/layout.yaml", layout)
	b.shows("no member file")
}

// The board and the calendar lead to each other, and back.
func TestBoardLeadsBack(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.write(t, "fleet/rollouts/prod.yaml", rolloutPolicy)
	b := open(t, s)
	b.signIn("/rollouts")
	b.shows("at most 10% unavailable")
	b.shows("fleet/rollouts/prod.yaml")
	b.follow(`a[href="/calendar"]`)
	b.at("/calendar")
	b.leave("history.back()")
	b.at("/rollouts")
	b.shows("at most 10% unavailable")
	b.leave("history.forward()")
	b.at("/calendar")
	b.shows("frozen: the year's end")
}

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// faint returns the texts of a page whose contrast is below that of WCAG 2.2, AA, as they are
// shown: 4.5:1, and 3:1 for large ones and for the edges of fields and buttons. The ground of a
// text is the first opaque one below it.
const faint = `(() => {
  const rgb = (s) => { const n = s.match(/[\d.]+/g).map(Number); return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1] }
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1)
  const luminance = (c) => [.2126, .7152, .0722].reduce((sum, w, i) => {
    const v = c[i] / 255
    return sum + w * (v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  }, 0)
  const ratio = (a, b) => { const [x, y] = [luminance(a) + .05, luminance(b) + .05]; return Math.max(x, y) / Math.min(x, y) }
  const ground = (e) => {
    const layers = []
    for (; e; e = e.parentElement) {
      layers.push(rgb(getComputedStyle(e).backgroundColor))
      if (layers.at(-1)[3] === 1) break
    }
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255, 1])
  }
  const out = []
  let seen = 0
  const check = (what, e, style, below, least) => {
    seen++
    const got = ratio(over(rgb(style), below), below)
    if (got < least) out.push(what.trim().slice(0, 40) + ' (' + e.tagName + '.' + e.className + '): ' + got.toFixed(2))
  }
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true})) continue
    const style = getComputedStyle(e)
    if (style.opacity !== '1') out.push('opacity of ' + e.tagName + '.' + e.className)
    const large = (s) => parseFloat(s.fontSize) >= 24 || parseFloat(s.fontSize) >= 18.66 && Number(s.fontWeight) >= 700
    const own = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim())
    if (own.length) check(own[0].textContent, e, style.color, ground(e), large(style) ? 3 : 4.5)
    for (const part of ['::before', '::after']) {
      const s = getComputedStyle(e, part)
      if (!['none', 'normal', '""'].includes(s.content)) check(part + s.content, e, s.color, ground(e), 4.5)
    }
    if (e.matches('input:not([type=hidden]), select, button, .button')) {
      if (e.placeholder) check(e.placeholder, e, getComputedStyle(e, '::placeholder').color, ground(e), 4.5)
      if (e.value) check(e.value, e, style.color, ground(e), 4.5)
      check('the edge', e, style.borderTopColor, ground(e.parentElement), 3)
    }
  }
  return seen < 5 ? ['only ' + seen + ' texts'] : [...new Set(out)]
})()`

// Every text on every page has the contrast of WCAG 2.2, AA, as Chromium shows it, in both themes:
// also of a fleet in which something is held back, wrong, unknown and frozen.
func TestPagesHaveContrast(t *testing.T) {
	t.Parallel()
	location, push := gitFleet(t)
	s := serve(t, nil, "--source", location, "--interval", "1h", "--facts", "kubernetes", "--kubeconfig", busyHub(t).kubeconfig(t))
	b := open(t, s)
	b.do(chromedp.Navigate(s.address+"/"), chromedp.WaitVisible(chromedp.CSS("form.signin")))
	look := func(path string) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			b.do(scheme(theme))
			if found := value[[]string](b, faint); len(found) > 0 {
				t.Errorf("%s, %s:\n%s", path, theme, strings.Join(found, "\n"))
			}
		}
	}
	look("/signin")
	b.signIn("/held")
	b.do(scheme("light"))
	value[bool](b, `(document.querySelector("h1").style.color = "#999") && true`)
	if found := value[[]string](b, faint); len(found) != 1 {
		t.Errorf("of one faint text, these are found: %v", found)
	}
	push(s, "fleet/rollouts/prod.yaml", rolloutPolicy)
	push(s, "fleet/fleet-members/hub-eu/payments-dev-eu-1.yaml", "clusterName: payments-dev-eu-1\ntenant: payments\nenvironment: dev\ntenannt: x\n")
	b.shows("tenannt")
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 844))
		for _, path := range append(views, "/find", "/compare", "/?q=nothing-like-this", "/cluster?hub=hub-eu&cluster=payments-dev-eu-1") {
			b.visit(path)
			look(path)
		}
	}
}

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// rolloutPolicy has two rings, with windows and freezes all over the calendar.
const rolloutPolicy = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
scope: {groups: [addons, monitoring]}
rings:
  - name: canary
    selector: {matchLabels: {environment: dev}}
    soak: 30m
    onFailure: back
  - name: staging
    selector: {matchLabels: {environment: staging}}
    soak: 2h
    windows: [{days: [mon, tue, wed, thu], from: "09:00", to: "16:00", timeZone: Europe/Berlin}, {from: "22:00", to: "04:00", timeZone: America/New_York}]
  - name: prod
    selector: {matchLabels: {environment: prod}}
    maxUnavailable: 10%
    approval: required
    windows: [{days: [tue, wed], from: "09:00", to: "16:00", timeZone: Europe/Berlin}]
    freezes: [{from: 2026-01-01, to: 2099-12-31, reason: "the year's end"}]
approvals:
  - {ring: prod, revision: "0123456789abcdef", expires: 2099-12-31, reason: CHG-4711}
`

// A commit reaches the first ring, and the board shows what the others wait for without a reload;
// the calendar says when they may take it, also on a phone and without scripts.
func TestBoardFollowsTheRings(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	b := open(t, s)
	b.signIn("/rollouts")
	b.shows("No rollouts")
	s.write(t, "fleet/rollouts/prod.yaml", rolloutPolicy)
	b.shows("has it, passed")
	b.shows("at most 10% unavailable")
	s.write(t, "addons/defaults/addons/kyverno/values.yaml", "admissionController: {replicas: 5}\n")
	b.shows("previous ring")
	b.shows("CHG-4711")
	b.follow(`a[href="/calendar"]`)
	b.shows("Windows and freezes")
	b.shows("22:00–04:00 of the next day America/New_York")
	b.shows("frozen: the year's end")
	value[bool](b, `!/\d ago/.test(document.querySelector(".days").textContent) || (() => { throw "a day of the calendar is an age" })()`)
	b.follow(`a[href="/rollouts"]`)
	b.at("/rollouts")
	b.visit("/?tenant=retail")
	b.shows("ring canary")
	for _, path := range []string{"/rollouts", "/calendar"} {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 800, 390} {
				b.do(chromedp.EmulateViewport(width, 844), scheme(theme))
				b.visit(path)
				if wide := value[int64](b, "document.documentElement.scrollWidth"); wide > width {
					t.Errorf("%s is %d wide on a screen of %d", path, wide, width)
				}
				if *gallery == "" {
					continue
				}
				png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(*gallery, fmt.Sprintf("%s-%d-%s.png", path[1:], width, theme)), png, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	plain := open(t, s, noScripts())
	plain.signIn("/calendar")
	plain.visit("/rollouts")
}

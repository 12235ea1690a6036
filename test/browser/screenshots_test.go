package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// noScripts switches JavaScript off.
func noScripts() step {
	return func(ctx context.Context, t *chromedp.Target) (none chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return none, err
	}
}

// scheme chooses the light or the dark theme.
func scheme(name string) step {
	return func(ctx context.Context, t *chromedp.Target) (none chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return none, err
	}
}

// pictures are those of the documentation.
var pictures = []struct {
	name, path, scheme string
	width, height      int64
}{
	{"matrix-light", "/", "light", 1280, 800},
	{"matrix-dark", "/?by=tenant", "dark", 1280, 800},
	{"why", "/why?hub=hub-eu&cluster=retail-prod-eu-1&group=addons&component=external-dns", "light", 1280, 1000},
	{"held-back", "/held", "light", 1280, 620},
}

// TestScreenshots writes the documentation's pictures (make screenshots).
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("make screenshots")
	}
	s := serve(t, nil)
	b := open(t, s)
	b.signIn("/")
	for name, more := range map[string]string{"payments-dev-eu-1": "tenannt: x\n", "retail-prod-eu-2": "lifecycle: draining\n"} {
		file := "fleet/fleet-members/hub-eu/" + name + ".yaml"
		text, err := os.ReadFile(filepath.Join(s.folder, file))
		if err != nil {
			t.Fatal(err)
		}
		s.write(t, file, string(text)+more)
	}
	b.visit("/held")
	b.shows("draining")
	b.shows("tenannt")
	for _, p := range pictures {
		b.do(chromedp.EmulateViewport(p.width, p.height), scheme(p.scheme))
		b.visit(p.path)
		png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*screenshots, p.name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

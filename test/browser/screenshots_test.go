package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
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
	{"timeline", "/timeline", "light", 1280, 700},
	{"what-changed", "/plan", "light", 1280, 760},
}

// TestScreenshots writes the documentation's pictures (make screenshots), and with -gallery every
// page in both themes and three widths.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" && *gallery == "" {
		t.Skip("make screenshots")
	}
	location, push := gitFleet(t)
	h := busyHub(t)
	s := serve(t, nil, "--source", location, "--interval", "1h", "--facts", "kubernetes", "--kubeconfig", h.kubeconfig(t))
	b := open(t, s)
	b.do(chromedp.EmulateViewport(1280, 800))
	b.signIn("/held")
	b.shows("Nothing is held")
	for name, more := range map[string]string{"payments-dev-eu-1": "tenannt: x\n", "retail-prod-eu-2": "lifecycle: draining\n"} {
		file := "fleet/fleet-members/hub-eu/" + name + ".yaml"
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		push(s, file, string(text)+more)
	}
	b.shows("draining")
	b.shows("tenannt")
	b.visit("/timeline")
	push(s, "addons/tenants/retail/clusters/retail-dev-eu-1/application-sets/addons.yaml", "components:\n  external-dns:\n    chart: {version: 1.21.0}\n")
	b.shows("external-dns")
	push(s, "addons/tenants/analytics/environments/prod/addons/karpenter/values.yaml", "replicas: 3\n")
	b.shows("karpenter")
	push(s, "addons/tenants/retail/defaults/addons/kyverno/values.yaml", "admissionController:\n  replicas: 2\n")
	b.shows("kyverno")
	for _, cluster := range []string{"retail-dev-eu-1", "retail-prod-eu-1", "retail-staging-eu-1"} {
		for _, health := range []string{"Progressing", "Healthy"} {
			h.set("kyverno-"+cluster, application{cluster, "3.9.1", "Synced", health})
		}
	}
	h.set("external-dns-retail-dev-eu-1", application{"retail-dev-eu-1", "1.21.0", "Synced", "Healthy"})
	b.shows("healthy after")
	picture := func(folder, name, path, theme string, width, height int64) {
		b.do(chromedp.EmulateViewport(width, height), scheme(theme))
		b.visit(path)
		png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if *screenshots != "" {
		for _, p := range pictures {
			picture(*screenshots, p.name, p.path, p.scheme, p.width, p.height)
		}
	}
	if *gallery == "" {
		return
	}
	plain := regexp.MustCompile(`[^a-z0-9]+`)
	for _, path := range append(views, "/find", "/compare", "/?q=nothing-like-this") {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 800, 390} {
				picture(*gallery, fmt.Sprintf("%s-%d-%s", plain.ReplaceAllString(path[1:], "-"), width, theme), path, theme, width, 844)
			}
		}
	}
}

// busyHub is a hub on which nearly everything is as Git wants it: some components are late, or not
// well.
func busyHub(t *testing.T) *hub {
	t.Helper()
	var m struct {
		View struct {
			Columns []struct{ Component string }
			Rows    []struct {
				Cluster string
				Cells   []struct{ State, Version string }
			}
		}
	}
	b := open(t, serve(t, nil))
	b.signIn("/")
	b.shows("What runs where") // there is a state
	r, err := http.NewRequest(http.MethodGet, b.address+"/api/v1/matrix", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil {
		t.Fatal(err)
	}
	var clusters []string
	applications := map[string]application{}
	for _, row := range m.View.Rows {
		clusters = append(clusters, row.Cluster)
		for i, c := range row.Cells {
			if c.State == "deployed" {
				applications[m.View.Columns[i].Component+"-"+row.Cluster] = application{row.Cluster, c.Version, "Synced", "Healthy"}
			}
		}
	}
	for name, a := range map[string]application{
		"aws-load-balancer-controller-payments-prod-eu-1": {"payments-prod-eu-1", "1.14.1", "Synced", "Degraded"},
		"cert-manager-retail-dev-eu-1":                    {"retail-dev-eu-1", "v1.19.1", "OutOfSync", "Healthy"},
		"karpenter-analytics-prod-eu-1":                   {"analytics-prod-eu-1", "1.12.1", "Synced", "Progressing"},
		"aws-ebs-csi-driver-payments-staging-eu-1":        {"payments-staging-eu-1", "2.48.0", "Unknown", "Unknown"},
	} {
		applications[name] = a
	}
	return newHub(t, clusters, applications)
}

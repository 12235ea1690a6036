package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/rings"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// markup are texts that would be markup if a page did not escape them.
var markup = []string{"plain", `<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "'--></title></style></textarea>", "{{.}}", "javascript:alert(1)", "\x00\xff", "a\nb", "&lt;"}

// Values from a fleet's files are text wherever they stand: the elements of a page do not depend on
// them.
func FuzzMarkup(f *testing.F) {
	for _, s := range markup {
		f.Add(s)
	}
	plain := elements(f, "x") // what is empty has no element
	f.Fuzz(func(t *testing.T, s string) {
		if got := elements(t, "x"+s); got != plain {
			t.Errorf("%q changes the elements of a page: %s", s, cmp.Diff(plain, got))
		}
	})
}

// elements are the elements and attributes of pages on which a text is a value, a label of a freeze
// or an approval, a file's problem, and what an engine reports.
func elements(t testing.TB, s string) string {
	t.Helper()
	text := yamlText("x" + s)
	report := rings.Report{Hub: "hub", Revision: "2", Rollouts: []rings.Rollout{{Name: "prod", Problem: s, Rings: []rings.Ring{{
		Name: "all", Members: 2, Revision: "2", Train: 1, Since: now, Rejection: s,
		Wait: &rollout.Wait{Ring: "all", Train: rollout.Train{Number: 1, Revision: "2"}, Reason: rollout.Unhealthy, Cluster: "one", Detail: s, Since: now},
	}}}}}
	live := overview.Live{
		Status: func(string) (overview.Status, bool) {
			return overview.Status{Version: "x" + s, Sync: "x" + s, Health: "x" + s, Since: now}, true
		},
		Unreachable: func(string) (time.Time, string) { return now, "x" + s },
	}
	st := &fleet{}
	serve := func(revision, value string) {
		st.serve(t, revision, fleettest.Small().With(fleettest.Tree{
			"addons/tenants/retail/clusters/one/addons/dns/values.yaml": fmt.Sprintf("value: %s\nmap: {k: [%s%s]}\n", text, text, value),
			fleettest.Member("two"): fleettest.Spoke("two", "? "+text+"\n: x\n"),
			rolloutFile: "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings:\n  - name: all\n    selector: {}\n    freezes: [{from: 2026-11-24, to: 2026-11-24, reason: " + text + "}]\n" +
				"approvals:\n  - {ring: all, revision: \"2222222222222222222222222222222222222222\", expires: 2026-11-30, reason: " + text + "}\n",
		}), facts.NewSet(false, facts.Cluster{Name: "two", Address: "https://two.example.com"}).WithApplications(
			facts.Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns"}, facts.Application{Name: "dns-two", Cluster: "two", Group: "addons", Component: "dns"},
		))
	}
	serve("1", "")
	server := site(t, st, func(o *web.Options) {
		o.Rollouts, o.Live = func() rings.Report { return report }, func() overview.Live { return live }
	})
	defer server.Close()
	var b strings.Builder
	get(t, server, secret, "/") // the timeline begins
	serve("2", ", 1")
	for _, path := range []string{"/", "/cluster?cluster=one", "/cluster?cluster=two", "/held", "/rollouts", "/calendar", "/why?cluster=one&group=addons&component=dns", "/plan", "/timeline"} {
		b.WriteString(path + "\n")
		z := html.NewTokenizer(strings.NewReader(uncompressed(t, server, secret, path).body))
		for z.Next() != html.ErrorToken {
			if token := z.Token(); (token.Type == html.StartTagToken || token.Type == html.EndTagToken) && token.Data != "wbr" {
				b.WriteString(token.Data)
				for _, a := range token.Attr {
					b.WriteString(" " + a.Key)
				}
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

// yamlText is a text as YAML has it.
func yamlText(s string) string {
	return regexp.MustCompile(`\\x([0-9a-f]{2})`).ReplaceAllString(strconv.QuoteToASCII(strings.ToValidUTF8(s, "?")), `\u00$1`)
}

// places are where a text of somebody else may stand that changes what a page has: names, labels,
// keys, versions, paths of files, and what the hub and Git report.
var places = map[string]func(s string) (fleettest.Tree, facts.Cluster, facts.Application){
	"label": member(func(s string) string {
		return "labels: {" + s + ": x, owner: " + s + "}\nannotations: {" + s + ": " + s + "}\n"
	}),
	"name":        member(func(s string) string { return "clusterName: " + s + "\n" }),
	"lifecycle":   member(func(s string) string { return "lifecycle: " + s + "\n" }),
	"tenant":      file(fleettest.Member("two"), "{clusterName: two, tenant: %[1]s, environment: %[1]s}\n"),
	"component":   file(fleettest.SystemCatalog, "dns: {enabled: true, "+fleettest.DNSChart+"}\n%[1]s: {enabled: true, "+fleettest.DNSChart+"}\n"),
	"chart":       file(fleettest.OneCatalog, "dns: {chart: {version: %[1]s, name: %[1]s, repoURL: %[1]s}, namespace: %[1]s, releaseName: %[1]s}\n"),
	"selector":    file(fleettest.OneCatalog, "dns: {selector: {matchLabels: {%[1]s: %[1]s}}}\n"),
	"key":         file("addons/tenants/retail/clusters/one/addons/dns/values.yaml", "%[1]s: {%[1]s: [%[1]s]}\n"),
	"template":    file("addons/tenants/retail/clusters/one/addons/dns/values.yaml.gotmpl", "a: {{ .%[1]s }}\n"),
	"release":     file("versions/applicationSets.yaml", "releases: {globals: {chartRepoUrl: %[1]s}, addons: [{type: %[1]s}, {type: default, chartRepoRevision: %[1]s}]}\n"),
	"layout":      file("fleet/layout.yaml", "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n%[1]s: %[1]s\n"),
	"ring":        file(rolloutFile, "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings: [{name: %[1]s, selector: {}}]\n"),
	"check":       file(rolloutFile, "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings: [{name: all, selector: {}, checks: [{name: %[1]s, url: %[1]s, query: %[1]s, expect: %[1]s}]}]\n"),
	"scope":       file(rolloutFile, "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nscope: {groups: [%[1]s], components: [%[1]s]}\nrings: [{name: all, selector: {}}]\n"),
	"member file": path("fleet/fleet-members/hub/%s.yaml"),
	"folder":      path("addons/tenants/retail/clusters/one/addons/%s/values.yaml"),
	"level":       path("addons/tenants/%s/values.yaml"),
	"live label": func(s string) (fleettest.Tree, facts.Cluster, facts.Application) {
		return nil, facts.Cluster{Name: "one", Server: s, Labels: map[string]string{s: s, "addonsRelease": s, "tenant": s}, Annotations: map[string]string{s: s}}, facts.Application{Name: "dns-one", Cluster: "one"}
	},
	"application": func(s string) (fleettest.Tree, facts.Cluster, facts.Application) {
		return nil, facts.Cluster{Name: "one"}, facts.Application{Name: s, Cluster: "one", Group: s, Component: s, Owner: s}
	},
}

func file(name, format string) func(string) (fleettest.Tree, facts.Cluster, facts.Application) {
	return func(s string) (fleettest.Tree, facts.Cluster, facts.Application) {
		return fleettest.Tree{name: fmt.Sprintf(format, yamlText(s))}, facts.Cluster{Name: "one"}, facts.Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns"}
	}
}

func member(more func(string) string) func(string) (fleettest.Tree, facts.Cluster, facts.Application) {
	return func(s string) (fleettest.Tree, facts.Cluster, facts.Application) {
		return file(fleettest.Member("two"), strings.ReplaceAll(fleettest.Spoke("two", more(yamlText(s))), "%", "%%"))(s)
	}
}

func path(format string) func(string) (fleettest.Tree, facts.Cluster, facts.Application) {
	return func(s string) (fleettest.Tree, facts.Cluster, facts.Application) {
		name := strings.Map(func(r rune) rune {
			if r == 0 || r == '/' {
				return -1
			}
			return r
		}, s)
		return file(fmt.Sprintf(format, name), "clusterName: x\n%[1]s: x\n")(s)
	}
}

// Names, labels, keys and paths are text, too, whether they are right or a problem that a page
// reports: no page gets an element, an attribute or an address that its template does not have.
func FuzzMarkupOfNames(f *testing.F) {
	var templates strings.Builder
	for _, pattern := range []string{"templates/*.html", "../base/planpage/*.html"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(f, err)
			templates.Write(text)
		}
	}
	var elements, attributes []string
	for _, m := range regexp.MustCompile(`<([a-z0-9]+)`).FindAllStringSubmatch(templates.String(), -1) {
		elements = append(elements, m[1])
	}
	for _, m := range regexp.MustCompile(`[ }]([a-z-]+)(?:=|[ >{])`).FindAllStringSubmatch(templates.String(), -1) {
		attributes = append(attributes, m[1])
	}
	if len(elements) < 50 || slices.Contains(attributes, "onerror") {
		f.Fatal("the templates are not understood")
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range places {
			if !yield(name) {
				return
			}
		}
	})
	for n := range names {
		for i := range 3 { // each text is in some places
			f.Add(uint8(n), markup[(n+i*len(markup)/3)%len(markup)])
		}
	}
	addresses := regexp.MustCompile(`^([/?][^/]|/$|#|https://github\.com/example/fleet/blob/)`)
	f.Fuzz(func(t *testing.T, n uint8, s string) {
		place := names[int(n)%len(names)]
		files, cluster, application := places[place]("x" + s)
		known := facts.NewSet(false, cluster).WithApplications(application)
		st := &fleet{}
		st.serve(t, "1", fleettest.Small(), known)
		server := site(t, st)
		defer server.Close()
		get(t, server, secret, "/") // the timeline begins
		if err := st.tryServe(fleettest.Snapshot("2", fleettest.Small().With(files)).WithCommit(snapshot.Commit{Author: s, Subject: s, At: now}), known); err != nil {
			st.status.Refused = []refresh.Refusal{{Cause: refresh.Commit, Since: now, Problem: err.Error()}}
		}
		for _, page := range []string{"/", "/?by=tenant", "/?by=owner", "/component?group=addons&component=dns", "/cluster?cluster=one", "/cluster?cluster=two", "/why?cluster=one&group=addons&component=dns", "/held", "/rollouts", "/calendar", "/outliers", "/timeline", "/plan", "/compare?a=one&b=two", "/find?path=x"} {
			r := uncompressed(t, server, secret, page)
			if r.code >= 500 && r.code != 503 {
				t.Errorf("%s: %d", page, r.code)
			}
			z := html.NewTokenizer(strings.NewReader(r.body))
			for z.Next() != html.ErrorToken {
				token := z.Token()
				if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
					continue
				}
				if !slices.Contains(elements, token.Data) {
					t.Errorf("%s has <%s> by %q in %s", page, token.Data, s, place)
				}
				for _, a := range token.Attr {
					if !slices.Contains(attributes, a.Key) {
						t.Errorf("%s has the attribute %s by %q in %s", page, a.Key, s, place)
					}
					if (a.Key == "href" || a.Key == "src" || a.Key == "action") && !addresses.MatchString(a.Val) {
						t.Errorf("%s leads to %s by %q in %s", page, a.Val, s, place)
					}
				}
			}
		}
	})
}

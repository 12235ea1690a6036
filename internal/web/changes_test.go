package web_test

import (
	"net/http"
	"strings"
	"testing"
)

// What a commit changed shows by file and line on both sides, and whom it concerns; a team sees its
// own part of both.
func TestChangesHavePlaces(t *testing.T) {
	t.Parallel()
	f := wide(t)
	server := site(t, f)
	for _, path := range []string{"/plan", "/timeline"} {
		if r := get(t, server, secret, path); r.code != http.StatusOK || !strings.Contains(r.body, "next commit shows here") {
			t.Errorf("%s before a change: %d %s", path, r.code, r.body)
		}
	}
	change(t, f)
	text := func(token, path string) string {
		return strings.ReplaceAll(get(t, server, token, path).body, "<wbr>", "")
	}
	const blob = "https://github.com/example/fleet/blob/"
	all := text(secret, "/plan")
	for _, want := range []string{
		"four &lt;b&gt;&amp;", "five &lt;b&gt;&amp;", ">1.0.0<", ">2.0.0<", "secretive",
		blob + strings.Repeat("2", 40) + "/addons/tenants/retail/clusters/four/addons/dns/values.yaml#L1",
		blob + strings.Repeat("3", 40) + "/addons/tenants/retail/clusters/four/addons/dns/values.yaml#L1",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the plan lacks %q: %s", want, all)
		}
	}
	if own := text(retail, "/plan"); !strings.Contains(own, "five") || strings.Contains(own, "secretive") || strings.Contains(own, "bank") {
		t.Errorf("the plan of a team: %s", own)
	}
	if got := text(secret, "/timeline?cluster=secretive"); !strings.Contains(got, "not reported in sync yet") {
		t.Errorf("the timeline: %s", got)
	}
	if r := get(t, server, retail, "/timeline?cluster=secretive"); r.code != http.StatusNotFound {
		t.Errorf("the timeline of another team's cluster: %d", r.code)
	}
	for _, path := range []string{"/plan?base=" + strings.Repeat("3", 40) + "&head=" + strings.Repeat("2", 40), "/plan?head=nosuch"} {
		if r := get(t, server, secret, path); r.code != http.StatusNotFound || !strings.Contains(r.body, "has served the base after the head") && !strings.Contains(r.body, "has not served revision") && !strings.Contains(r.body, "first revision") {
			t.Errorf("%s: %d %s", path, r.code, r.body)
		}
	}
}

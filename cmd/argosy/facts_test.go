package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// hubAPI is a hub's API server with two members' cluster Secrets, the first with an Application;
// status, if it is not 0, is all that it answers. It gives nothing but metadata.
func hubAPI(t *testing.T, status *int) (kubeconfig string) {
	t.Helper()
	item := func(name, metadata string) string {
		return fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":%q,"namespace":"gitops","uid":"u","managedFields":[{"manager":"terraform"}],%s}}`, name, metadata)
	}
	lists := map[string][]string{
		"/api/v1/namespaces/gitops/secrets": {
			item("one", `"labels":{"argocd.argoproj.io/secret-type":"cluster","enable_dns":"true","account":"012345678901"},
				"annotations":{"aws_region":"eu-west-1","kubectl.kubernetes.io/last-applied-configuration":"{\"data\":\"hunter2\"}","git_token":"hunter3"}`),
			item("hub", `"labels":{"argocd.argoproj.io/secret-type":"cluster"}`),
		},
		"/apis/argoproj.io/v1alpha1/namespaces/gitops/applications": {
			item("dns-one", `"finalizers":["resources-finalizer.argocd.argoproj.io"],"labels":{"argosy.dev/cluster":"one","argosy.dev/group":"addons","argosy.dev/component":"dns"}`),
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items, known := lists[r.URL.Path]
		switch {
		case !known || r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") || strings.Contains(r.Header.Get("Accept"), "application/json,"):
			t.Errorf("%s %s, accepting %s", r.Method, r.URL.Path, r.Header.Get("Accept"))
			w.WriteHeader(http.StatusNotAcceptable)
		case *status != 0:
			w.WriteHeader(*status)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[%s]}`, strings.Join(items, ","))
		}
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "config")
	config := `{apiVersion: v1, kind: Config, current-context: elsewhere, contexts: [{name: elsewhere, context: {cluster: nowhere}}, {name: hub, context: {cluster: hub}}],
		clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}, {name: hub, cluster: {server: "` + s.URL + `"}}]}`
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	return file
}

func factsExportOf(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), append([]string{"facts", "export"}, args...), nil, &out, &errs)
	return status, out.String(), errs.String()
}

// What is exported answers every question as the hub itself does, has no credential in it, and is
// the same each time.
func TestFactsExportRoundTrip(t *testing.T) {
	status := 0
	config := hubAPI(t, &status)
	args := []string{"--kubeconfig", config, "--context", "hub", "-n", "gitops", "--applications"}
	code, text, warned := factsExportOf(t, args...)
	if code != exitGood {
		t.Fatal(code, warned)
	}
	if want := "argosy: warning: cluster \"one\": annotation \"git_token\" looks like a secret by its name: left out\n"; warned != want {
		t.Errorf("warned %q", warned)
	}
	for _, no := range []string{"hunter", "last-applied", "managedFields", "terraform"} {
		if strings.Contains(text, no) {
			t.Errorf("%s is in it:\n%s", no, text)
		}
	}
	if _, again, _ := factsExportOf(t, args...); again != text {
		t.Error("other bytes")
	}
	read, err := facts.Parse("facts.yaml", []byte(text))
	require.NoError(t, err)
	rest, err := hub.LoadContext(config, "hub")
	require.NoError(t, err)
	live, _, err := hub.List(context.Background(), hub.Options{Config: rest, Namespace: "gitops"}, hub.Also{Applications: true})
	require.NoError(t, err)
	one, _ := live.Of("one")
	delete(one.Annotations, "git_token")
	repository := snapshot.FromMap(map[string]string{
		"versions/applicationSets.yaml":    "releases: {addons: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]}\n",
		"versions/fleetSecrets.yaml":       "releases: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]\n",
		"fleet/fleet-members/hub/hub.yaml": "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		"fleet/fleet-members/hub/one.yaml": "{clusterName: one, tenant: retail, environment: prod}\n",
		// Not registered: no Secret is there.
		"fleet/fleet-members/hub/new.yaml":             "{clusterName: new, tenant: retail, environment: prod}\n",
		"addons/defaults/application-sets/addons.yaml": "dns: {enabled: true, selector: {matchLabels: {enable_dns: \"true\"}}, values: {region: '{{ .annotations.aws_region }}'}}\nmesh: {enabled: true}\n",
	})
	answers := func(known facts.Set) string {
		st, err := fleetstate.Build(nil, repository, known)
		require.NoError(t, err)
		var all []string
		for _, view := range []string{"members", "releases", "components", "agents"} {
			parameters, _ := json.Marshal(map[string]string{"view": view, "group": "addons"})
			if view == "members" || view == "agents" {
				parameters, _ = json.Marshal(map[string]string{"view": view})
			}
			r, err := query.Parse(parameters, "hub")
			require.NoError(t, err)
			answer, err := response.Bytes(st, r)
			require.NoError(t, err)
			all = append(all, string(answer))
		}
		return strings.Join(all, "")
	}
	want := answers(live)
	if got := answers(read); got != want || !strings.Contains(want, "mesh-one") || strings.Contains(want, "mesh-new") || !strings.Contains(want, "eu-west-1") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A file is written as a whole, or what was there stays.
func TestFactsExportToAFile(t *testing.T) {
	status := 0
	config, out := hubAPI(t, &status), filepath.Join(t.TempDir(), "facts.yaml")
	args := []string{"--kubeconfig", config, "--context", "hub", "-n", "gitops"}
	_, text, _ := factsExportOf(t, args...)
	if code, stdout, stderr := factsExportOf(t, append(args, "--out", out)...); code != exitGood || stdout != "" {
		t.Fatal(code, stdout, stderr)
	}
	check := func() {
		t.Helper()
		if data, err := os.ReadFile(out); err != nil || string(data) != text || strings.Contains(text, "applications") {
			t.Errorf("%v\n%s", err, data)
		}
		if entries, _ := os.ReadDir(filepath.Dir(out)); len(entries) != 1 {
			t.Errorf("%v", entries)
		}
	}
	check()
	status = http.StatusForbidden
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(args, "--out", out), "argosy: cluster secrets in namespace \"gitops\": access denied; allow list on secrets\n"},
		{[]string{"--kubeconfig", config, "--out", out}, "argosy: cluster secrets in namespace \"argocd\": the API server cannot be reached\n"},
		{[]string{"--kubeconfig", config, "--context", "hob", "--out", out}, `argosy: kubernetes configuration: context "hob" does not exist` + "\n"},
		{[]string{"--kubeconfig", config + "x", "--out", out}, "no such file or directory\n"},
		{[]string{"here"}, "argosy: facts export takes no arguments; there is \"here\"\n"},
	} {
		if code, stdout, stderr := factsExportOf(t, c.args...); code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: %d %q %q", c.args, code, stdout, stderr)
		}
		check()
	}
	status = 0
	if code, _, stderr := factsExportOf(t, append(args, "--out", filepath.Join(t.TempDir(), "no", "folder"))...); code != exitUsage || !strings.Contains(stderr, "write ") {
		t.Error(code, stderr)
	}
}

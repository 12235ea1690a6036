package server_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	fileF   = "fleet/fleet-members/hub-1/f.yaml"
	memberF = "clusterName: f\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: hub-1/f\nuse_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"
)

// fluxFleet is a fleet with a member that runs Flux.
func fluxFleet(more map[string]string) map[string]string {
	files := repository(more)
	if _, given := more[fileF]; !given {
		files[fileF] = memberF
	}
	return files
}

// repositoryOf is a repository of the service, as a client of OCI registries sees it.
func (s *service) repositoryOf(name string, client *auth.Client) *remote.Repository {
	s.Helper()
	r, err := remote.NewRepository(strings.TrimPrefix(s.Addr(), "http://") + "/" + name)
	require.NoError(s, err)
	r.PlainHTTP = true
	client.Client = &http.Client{Transport: s.client.Transport, Timeout: patient}
	r.Client = client
	return r
}

func withPassword(password string) *auth.Client {
	return &auth.Client{Credential: func(_ context.Context, _ string) (auth.Credential, error) {
		return auth.Credential{Username: "flux", Password: password}, nil
	}}
}

// pulled is an artifact's files, pulled by a client of OCI registries, and the manifest's digest.
func (s *service) pulled(name, reference string) (map[string]string, string) {
	s.Helper()
	store := memory.New()
	manifest, err := oras.Copy(s.Context(), s.repositoryOf(name, withPassword(secret)), reference, store, "", oras.DefaultCopyOptions)
	require.NoError(s, err)
	rc, err := store.Fetch(s.Context(), manifest)
	require.NoError(s, err)
	var m struct {
		MediaType string
		Config    struct{ MediaType string }
		Layers    []struct{ MediaType, Digest string }
	}
	require.NoError(s, json.NewDecoder(rc).Decode(&m))
	if m.Config.MediaType != "application/vnd.cncf.flux.config.v1+json" || len(m.Layers) != 1 || m.Layers[0].MediaType != "application/vnd.cncf.flux.content.v1.tar+gzip" {
		s.Fatalf("manifest %+v", m)
	}
	layer := s.get("/v2/" + name + "/blobs/" + m.Layers[0].Digest)
	return untar(s.TB, layer.body), manifest.Digest.String()
}

func untar(t testing.TB, layer string) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(layer))
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		var b bytes.Buffer
		if _, err := io.Copy(&b, r); err != nil { //nolint:gosec // our own archive
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			files[h.Name] = b.String()
		}
	}
}

// TestArtifactIsPulled: a client of OCI registries finds its way with a password alone, and gets
// Flux's objects.
func TestArtifactIsPulled(t *testing.T) {
	s := start(t)
	revision := s.say(fluxFleet(nil)).Revision
	files, digest := s.pulled("flux/hub-1/f", "latest")
	if !strings.Contains(files["components/dns-f.yaml"], "kind: HelmRelease") || !strings.Contains(files["cluster-info.yaml"], "tenant: retail") {
		t.Errorf("files: %v", files)
	}
	byRevision, again := s.pulled("flux/hub-1/f", strings.ReplaceAll(revision, ":", "-"))
	if diff := cmp.Diff(files, byRevision); diff != "" || again != digest {
		t.Errorf("by revision: %s %s", again, diff)
	}
	if _, byDigest := s.pulled("flux/hub-1/f", digest); byDigest != digest {
		t.Errorf("by digest: %s", byDigest)
	}
	if r := s.get("/v2/flux/hub-1/f/tags/list"); r.body != `{"name":"flux/hub-1/f","tags":["latest","`+strings.ReplaceAll(revision, ":", "-")+"\"]}\n" {
		t.Errorf("tags: %s", r.body)
	}
	head := s.do(s.request("HEAD", "/v2/flux/hub-1/f/manifests/latest", ""))
	if head.code != http.StatusOK || head.header.Get("Docker-Content-Digest") != digest || head.header.Get("Content-Length") == "" || head.body != "" ||
		head.header.Get("Content-Type") != "application/vnd.oci.image.manifest.v1+json" {
		t.Errorf("HEAD: %d %v", head.code, head.header)
	}
	hub, _ := s.pulled("flux/hub-1/hub", "latest")
	if !strings.Contains(hub["components/dns-a.yaml"], "name: a-kubeconfig") || hub["components/dns-f.yaml"] != "" {
		t.Errorf("the hub's artifact: %v", hub)
	}
	if strings.Contains(s.log.String(), `level=WARN msg=request`) {
		t.Errorf("a client's first question is no warning:\n%s", s.log)
	}
}

// TestArtifactIsStable: Flux reconciles when the digest changes, so it changes with what runs and
// with nothing else.
func TestArtifactIsStable(t *testing.T) {
	s := start(t)
	s.say(fluxFleet(nil))
	_, before := s.pulled("flux/hub-1/f", "latest")
	s.say(fluxFleet(map[string]string{"README.md": "another commit", "addons/tenants/retail/clusters/a/addons/dns/values.yaml": "replicas: 3\n"}))
	if _, after := s.pulled("flux/hub-1/f", "latest"); after != before {
		t.Errorf("what concerns others changed the artifact: %s, %s", before, after)
	}
	s.say(fluxFleet(map[string]string{"addons/tenants/retail/clusters/f/addons/dns/values.yaml": "replicas: 3\n"}))
	files, after := s.pulled("flux/hub-1/f", "latest")
	if after == before || !strings.Contains(files["components/dns-f.yaml"], "replicas: 3") {
		t.Errorf("a value changed, the artifact did not: %s", after)
	}
	if _, old := s.pulled("flux/hub-1/f", before); old != before {
		t.Error("what a client has begun to pull is gone")
	}
}

// TestArtifactIsRefused: whatever is wrong is an error to Flux, which keeps what it has (G1, G4).
func TestArtifactIsRefused(t *testing.T) {
	s := start(t)
	const path = "/v2/flux/hub-1/f/manifests/latest"
	wants := func(what string, r reply, code int, text string) {
		t.Helper()
		var body struct {
			Errors []struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(r.body), &body); err != nil || len(body.Errors) != 1 || r.code != code || body.Errors[0].Code+" "+body.Errors[0].Message != text {
			t.Errorf("%s: got %d %s, want %d %s", what, r.code, r.body, code, text)
		}
	}
	wants("not ready", s.get(path), 503, "UNAVAILABLE not ready: script has not been read yet")
	s.say(fluxFleet(map[string]string{
		"fleet/fleet-members/hub-1/g.yaml":                              strings.ReplaceAll(memberF, "clusterName: f", "clusterName: g"),
		"fleet/fleet-members/hub-1/x.yaml":                              strings.Replace(strings.ReplaceAll(memberF, "clusterName: f", "clusterName: x"), "flux", "argocd", 1),
		"addons/tenants/retail/clusters/g/application-sets/addons.yaml": "dns: {chart: {repoURL: \"s3://charts\"}}\n",
	}))
	r := s.get(path, "Authorization", "")
	wants("no token", r, 401, "UNAUTHORIZED no token: expected it as the password of any user, or as a bearer's")
	assert.Equal(t, `Basic realm="argosy"`, r.header.Get("WWW-Authenticate"), "challenge")
	wants("reference", s.get(path, "Authorization", "Bearer $secret:key"), 403, "DENIED the bearer token is refused: it begins with \"$\", a reference to a Secret's key that Argo CD could not resolve; see the key \"token\" of the plugin's ConfigMap")
	if _, err := s.repositoryOf("flux/hub-1/f", withPassword("wrong")).Resolve(t.Context(), "latest"); err == nil {
		t.Error("a wrong password is taken")
	}
	wants("write", s.do(s.request("PUT", path, "{}")), 405, "UNSUPPORTED the registry is read-only")
	wants("name", s.get("/v2/library/alpine/manifests/latest"), 404, "NAME_UNKNOWN no such repository; expected flux/<hub>/<owner>, where the owner is a member's name or hub")
	wants("hub", s.get("/v2/flux/hub-3/f/manifests/latest"), 404, `NAME_UNKNOWN hub "hub-3" has no member files, did you mean "hub-1"?; expected fleet/fleet-members/{{ .hub }}/{{ .cluster }}.yaml`)
	wants("centralized", s.get("/v2/flux/hub-1/a/manifests/latest"), 404, `NAME_UNKNOWN member "a" of hub "hub-1" has no engine of its own: ask for owner "hub"`)
	wants("argocd", s.get("/v2/flux/hub-1/x/manifests/latest"), 404, `NAME_UNKNOWN the engine of member "x" of hub "hub-1" is argocd`)
	wants("tag", s.get("/v2/flux/hub-1/f/manifests/v1"), 404, "NAME_UNKNOWN no such tag; expected latest or "+strings.ReplaceAll(s.Refresher().Status().Revision, ":", "-"))
	wants("unsupported", s.get("/v2/flux/hub-1/g/manifests/latest"), 503,
		`UNAVAILABLE addons/tenants/retail/clusters/g/application-sets/addons.yaml:1:24: component "dns" of group "addons": chart.repoURL "s3://charts" is not one that Flux reads charts from; expected https://, http://, or a registry without a scheme`)
	s.get("/v2/").is(t, http.StatusOK, "ping")
}

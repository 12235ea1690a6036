package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// archive packs files; a name of one that is in none is the chart's.
func archive(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for name, data := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))}))
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, errors.Join(w.Close(), zip.Close()))
	return out.Bytes()
}

var small = map[string][]byte{"web/Chart.yaml": []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")}

// charts makes a fetcher whose credentials are the text of a repositories.yaml.
func charts(ctx context.Context, t *testing.T, repositories string) *Charts {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "repositories.yaml")
	require.NoError(t, os.WriteFile(path, []byte(repositories), 0o600))
	c, err := New(ctx, Options{Dir: filepath.Join(dir, "charts"), Repositories: path, Allowed: []string{"http://127.0.0.1"}})
	require.NoError(t, err)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func indexOf(url string) string {
	return "apiVersion: v1\nentries: {web: [{name: web, version: 1.0.0, urls: [" + url + "]}]}\n"
}

// Rule 5: credentials go to the repository's host alone, unless Helm is set otherwise, and no
// message has them, nor a URL that a server redirected to.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var leaked atomic.Bool
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if _, _, has := r.BasicAuth(); has {
			leaked.Store(true)
		}
		_, _ = w.Write(archive(t, small))
	})
	own := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/charts/index.yaml":
			fmt.Fprint(w, indexOf(other.URL+"/web.tgz"))
		case "/dead/index.yaml":
			fmt.Fprint(w, indexOf("web.tgz"))
		case "/dead/web.tgz":
			http.Redirect(w, r, "http://127.0.0.1:1/web.tgz?signature=s3cret", http.StatusFound)
		}
	})
	login := func(path, more string) string {
		return fmt.Sprintf("repositories: [{name: own, url: %s%s/, username: user, password: s3cret%s}]", own.URL, path, more)
	}
	host := strings.TrimPrefix(own.URL, "http://")
	for name, tt := range map[string]struct {
		repositories, url string
		leaks             bool
		want              string // the error, or "" for none
	}{
		"of Helm":             {login("/charts", ""), own.URL + "/charts", false, ""},
		"for all":             {login("/charts", ", pass_credentials_all: true"), own.URL + "/charts", true, ""},
		"of the URL":          {"{}", "http://user:s3cret@" + host + "/charts", false, ""},
		"none":                {"{}", own.URL + "/charts", false, "the repository's index.yaml: the server answers 401 Unauthorized"},
		"of somebody else":    {login("/others", ""), own.URL + "/charts", false, "the repository's index.yaml: the server answers 401 Unauthorized"},
		"wrong in the URL":    {"{}", "http://user:wr0ng@" + host + "/charts", false, "the repository's index.yaml: the server answers 401 Unauthorized"},
		"redirected to none":  {login("/dead", ""), own.URL + "/dead", false, "the server cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused"},
		"not what is parsed":  {"{}", "http://user:s3cret@[/charts", false, "the repository's URL cannot be parsed"},
		"not what is fetched": {"{}", "ftp://user:s3cret@" + host, false, "charts are not fetched by ftp"},
	} {
		leaked.Store(false)
		_, err := charts(t.Context(), t, tt.repositories).Chart(source.Reference{RepoURL: tt.url, Name: "web", Version: "1.0.0"})
		if got := fmt.Sprint(err); err != nil && got != tt.want || err == nil && tt.want != "" {
			t.Errorf("%s: %s; want %s", name, got, tt.want)
		}
		if leaked.Load() != tt.leaks {
			t.Errorf("%s: credentials for another host: %t", name, leaked.Load())
		}
	}
}

// Rules 1 and 4: however many need it at once, a chart is fetched once; another run finds it
// and asks nobody.
func TestFetchedOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/index.yaml" {
			fmt.Fprint(w, indexOf("web-1.0.0.tgz"))
			return
		}
		_, _ = w.Write(archive(t, small))
	})
	c := charts(t.Context(), t, "{}")
	ref := source.Reference{RepoURL: s.URL, Name: "web", Version: "1.0.0"}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := c.Chart(ref); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for range 2 {
		a, err := (&Charts{ctx: t.Context(), o: Options{Dir: c.o.Dir, Offline: true}}).Chart(ref)
		require.NoError(t, err)
		if data, err := a.Open(); err != nil || digestOf(data) != a.Digest {
			t.Errorf("not what was fetched: %v", err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("%d requests; want 2", n)
	}
	left, _ := filepath.Glob(filepath.Join(c.o.Dir, "*", "*"))
	assert.Equal(t, 1, len(left), "in the cache: %v", left)
	if info, err := os.Stat(left[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a chart is for its owner alone: %v %v", info.Mode(), err)
	}
}

// Rule 3: what is beyond a limit, or ends too early, is refused, and nothing of it is kept.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body []byte
		then func(http.ResponseWriter, *http.Request)
		want string
	}{
		"no archive":      {body: []byte("<html>"), want: "it is not a packed chart"},
		"half of one":     {body: archive(t, small)[:40], want: "it cannot be unpacked: unexpected EOF"},
		"too much inside": {body: archive(t, map[string][]byte{"web/zeros": make([]byte, 100<<20)}), want: "it has more than 104857600 bytes when it is unpacked, which is the limit"},
		"cut off": {want: "unexpected EOF", then: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(make([]byte, 10))
		}},
		"silent": {want: "the server took too long", then: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/index.yaml":
					fmt.Fprint(w, indexOf("web.tgz"))
				case tt.then != nil:
					tt.then(w, r)
				default:
					_, _ = w.Write(tt.body)
				}
			})
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if name == "silent" {
				ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
			}
			defer cancel()
			c := charts(ctx, t, "{}")
			_, err := c.Chart(source.Reference{RepoURL: s.URL, Name: "web", Version: "1.0.0"})
			var refused *source.Unavailable
			if !errors.As(err, &refused) || refused.Detail != tt.want {
				t.Errorf("%v; want %s", err, tt.want)
			}
			if left, _ := filepath.Glob(filepath.Join(c.o.Dir, "*", "*")); len(left) > 0 {
				t.Errorf("kept: %v", left)
			}
		})
	}
}

// Rules 2, 3 and 5: of a registry nothing is kept that is not what its manifest says, or too large,
// and no memory is taken for it; no message has the URL that it redirects to.
func TestRegistryIsNotTrusted(t *testing.T) {
	t.Parallel()
	data := archive(t, small)
	for name, tt := range map[string]struct {
		digest string
		size   int64
		want   string
	}{
		"as it says":    {digestOf(data), int64(len(data)), ""},
		"another":       {digestOf(nil), int64(len(data)), "its digest or size is not what the registry says of it"},
		"shorter":       {digestOf(data), int64(len(data)) + 1, "its digest or size is not what the registry says of it"},
		"beyond memory": {digestOf(data), 1 << 50, "its archive has 1125899906842624 bytes; the limit is 20971520"},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/manifests/1.0.0"):
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				fmt.Fprintf(w, `{"schemaVersion": 2, "layers": [{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": "sha256:%s", "size": %d}]}`, tt.digest, tt.size)
			case r.URL.Path == "/there":
				_, _ = w.Write(data)
			default:
				http.Redirect(w, r, "/there?signature=s3cret", http.StatusFound)
			}
		})
		c := charts(t.Context(), t, "{}")
		_, err := c.Chart(source.Reference{RepoURL: strings.TrimPrefix(s.URL, "http://"), Name: "web", Version: "1.0.0"})
		if got := fmt.Sprint(err); err != nil && got != tt.want || err == nil && tt.want != "" {
			t.Errorf("%s: %s; want %s", name, got, tt.want)
		}
		left, _ := filepath.Glob(filepath.Join(c.o.Dir, "*", "*"))
		if (len(left) > 0) != (tt.want == "") {
			t.Errorf("%s: kept: %v", name, left)
		}
	}
}

// TestShelfHasNoOtherBuild: a version that differs in its build metadata alone is another chart.
func TestShelfHasNoOtherBuild(t *testing.T) {
	t.Parallel()
	s, data := shelf{t.TempDir()}, []byte("up1")
	name := url.PathEscape("1.0.0+up1") + "@" + digestOf(data) + ending
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), data, 0o600))
	if k, err := s.find("1.0.0+up2"); k != nil || err != nil {
		t.Errorf("up2: %v, %v", k, err)
	}
	for _, version := range []string{"1.0.0+up1", "1.x", ""} {
		if k, err := s.find(version); k == nil || err != nil {
			t.Errorf("%q: %v, %v", version, k, err)
		}
	}
}

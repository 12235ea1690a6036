package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	ocireg "github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	helmregistry "helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"
)

// chartServer serves charts on 127.0.0.1, and counts what it is asked.
type chartServer struct {
	*httptest.Server
	asked atomic.Int64
}

func newChartServer(ts *testscript.TestScript, variable string, h http.Handler) *chartServer {
	s := &chartServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		h.ServeHTTP(w, r)
	}))
	ts.Defer(s.Close)
	ts.Setenv(variable, s.URL)
	ts.Setenv(variable+"_HOST", strings.TrimPrefix(s.URL, "http://"))
	return s
}

// chartServers are the commands of scripts that serve charts:
//
//	helmrepo VARIABLE FROM TO   Helm packs the charts in FROM's folders to the folder TO, with an index, and it is served
//	ociregistry VARIABLE FROM   an OCI registry, to which Helm pushes them, at /charts
//	gitserver VARIABLE DIR      the Git repositories in a folder, by git http-backend; below /private with credentials: fleet, open-sesame
//	fileserver VARIABLE DIR     a folder's files
//	redirector VARIABLE URL     a server that leads all its clients to another one
//	tlsproxy VARIABLE URL       a server with TLS, before another one
//	asked VARIABLE N            how many requests there were since the last time
//	away VARIABLE               the server goes away
//
// $VARIABLE is the URL, and $VARIABLE_HOST without its scheme.
func chartServers() map[string]func(*testscript.TestScript, bool, []string) {
	var mu sync.Mutex
	servers := map[string]*chartServer{} // by the URL, which is of one script; scripts run at once
	add := func(s *chartServer) {
		mu.Lock()
		defer mu.Unlock()
		servers[s.URL] = s
	}
	at := func(ts *testscript.TestScript, variable string) *chartServer {
		mu.Lock()
		defer mu.Unlock()
		s := servers[ts.Getenv(variable)]
		if s == nil {
			ts.Fatalf("no server %s", variable)
		}
		return s
	}
	return map[string]func(*testscript.TestScript, bool, []string){
		"helmrepo": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 3, "helmrepo VARIABLE FROM TO")
			to := ts.MkAbs(args[2])
			pack(ts, ts.MkAbs(args[1]), to)
			index, err := repo.IndexDirectory(to, "")
			ts.Check(err)
			index.SortEntries()
			ts.Check(index.WriteFile(filepath.Join(to, "index.yaml"), 0o600))
			s := newChartServer(ts, args[0], http.FileServer(http.Dir(to)))
			add(s)
		},
		"ociregistry": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 2, "ociregistry VARIABLE FROM")
			s := newChartServer(ts, args[0], ocireg.New(ocireg.Logger(log.New(io.Discard, "", 0))))
			add(s)
			client, err := helmregistry.NewClient(helmregistry.ClientOptPlainHTTP(), helmregistry.ClientOptCredentialsFile(filepath.Join(ts.MkAbs("."), "none.json")))
			ts.Check(err)
			packed := ts.MkAbs("packed-for-" + args[0])
			for _, path := range pack(ts, ts.MkAbs(args[1]), packed) {
				data, err := os.ReadFile(path)
				ts.Check(err)
				c, err := loader.LoadFile(path)
				ts.Check(err)
				_, err = client.Push(data, fmt.Sprintf("%s/charts/%s:%s", strings.TrimPrefix(s.URL, "http://"), c.Name(), c.Metadata.Version))
				ts.Check(err)
			}
			s.asked.Store(0)
		},
		"gitserver": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 2, "gitserver VARIABLE DIR")
			path, err := exec.Command("git", "--exec-path").Output()
			ts.Check(err)
			backend := &cgi.Handler{
				Path:   filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
				Env:    []string{"GIT_PROJECT_ROOT=" + ts.MkAbs(args[1]), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
				Stderr: io.Discard,
			}
			add(newChartServer(ts, args[0], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if u, p, _ := r.BasicAuth(); strings.HasPrefix(r.URL.Path, "/private") && u+p != "fleetopen-sesame" {
					w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				backend.ServeHTTP(w, r)
			})))
		},
		"fileserver": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 2, "fileserver VARIABLE DIR")
			add(newChartServer(ts, args[0], http.FileServer(http.Dir(ts.MkAbs(args[1])))))
		},
		"redirector": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 2, "redirector VARIABLE URL")
			add(newChartServer(ts, args[0], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, args[1]+r.URL.Path, http.StatusFound)
			})))
		},
		"tlsproxy": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 2, "tlsproxy VARIABLE URL")
			to, err := url.Parse(args[1])
			ts.Check(err)
			s := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			ts.Defer(s.Close)
			ts.Setenv(args[0], s.URL)
		},
		"asked": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 2, "asked VARIABLE N")
			want, err := strconv.ParseInt(args[1], 10, 64)
			ts.Check(err)
			if n := at(ts, args[0]).asked.Swap(0); n != want {
				ts.Fatalf("%d requests, want %d", n, want)
			}
		},
		"away": func(ts *testscript.TestScript, neg bool, args []string) {
			need(ts, neg, args, 1, "away VARIABLE")
			at(ts, args[0]).Close()
		},
	}
}

// pack packs the charts in a folder's folders, as helm package does.
func pack(ts *testscript.TestScript, from, to string) []string {
	entries, err := os.ReadDir(from)
	ts.Check(err)
	var out []string
	for _, e := range entries {
		c, err := loader.LoadDir(filepath.Join(from, e.Name()))
		ts.Check(err)
		path, err := chartutil.Save(c, to)
		ts.Check(err)
		out = append(out, path)
	}
	return out
}

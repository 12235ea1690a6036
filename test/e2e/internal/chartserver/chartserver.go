// Package chartserver serves a Helm repository of stand-ins for the charts that a fleet's catalogs
// name.
//
//  1. A stand-in has the name and the version of the chart it stands for. It renders three objects,
//     all named after the release: a ServiceAccount, a Deployment of one container that does
//     nothing, with the replicas and the nodeSelector of the values, and the ConfigMap
//     <release>-values, whose key values.yaml holds all values that the chart was given. So what a
//     hierarchy of values came to can be read on a cluster. The templates are in chart/.
//  2. Charts whose custom resources other charts of this repository use bring their definitions
//     along (crds/<name>/), with schemas that accept anything. What others are to bring, as its own
//     release has them, Define says.
//  3. One repository stands for all: names are unique among the catalogs' charts.
//  4. The same charts give the same bytes: packages and index hold no time but a fixed one.
package chartserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Chart is a chart that a stand-in stands for.
type Chart struct{ Name, Version string }

// Compare orders charts by name, then by version as text.
func (c Chart) Compare(other Chart) int {
	return cmp.Or(cmp.Compare(c.Name, other.Name), cmp.Compare(c.Version, other.Version))
}

func (c Chart) file() string { return c.Name + "-" + c.Version + ".tgz" }

// Server serves the repository.
type Server struct {
	url    string
	server *http.Server

	mu       sync.RWMutex // guards what follows
	packages map[Chart][]byte
	defined  map[string]map[string][]byte // by a chart's name: what Define was given
	index    []byte
}

// Start serves stand-ins for the charts on a free port of 127.0.0.1, until Close or until the
// context ends.
func Start(ctx context.Context, charts []Chart) (*Server, error) {
	s := &Server{packages: map[Chart][]byte{}, defined: map[string]map[string][]byte{}}
	if err := s.Add(charts...); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("chart server: %w", err)
	}
	s.url = "http://" + listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /index.yaml", s.serveIndex)
	mux.HandleFunc("GET /charts/{file}", s.servePackage)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return s, nil
}

// URL is the repository's, as `helm repo add` and an Application's repoURL take it.
func (s *Server) URL() string { return s.url }

// Add adds charts, such as the version that a component is to be upgraded to. One that is there
// already is not changed.
func (s *Server) Add(charts ...Chart) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	packages := maps.Clone(s.packages)
	for _, chart := range charts {
		if packages[chart] != nil {
			continue
		}
		data, err := pack(chart, s.defined[chart.Name])
		if err != nil {
			return fmt.Errorf("chart server: add %s %s: %w", chart.Name, chart.Version, err)
		}
		packages[chart] = data
	}
	return s.publish(packages)
}

// Put serves a chart's own package, in place of what is served under its name and version.
func (s *Server) Put(chart Chart, archive []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	packages := maps.Clone(s.packages)
	packages[chart] = archive
	return s.publish(packages)
}

// publish serves packages in place of those before; the caller has the lock.
func (s *Server) publish(packages map[Chart][]byte) error {
	index, err := index(packages)
	if err != nil {
		return fmt.Errorf("chart server: index: %w", err)
	}
	s.packages, s.index = packages, index
	return nil
}

// Define has all versions of a chart bring along the definitions of custom resources in the YAML
// files of some folders.
func (s *Server) Define(name string, dirs ...string) error {
	files := map[string][]byte{}
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			return fmt.Errorf("chart server: define %s: %w", name, err)
		}
		if len(found) == 0 {
			return fmt.Errorf("chart server: define %s: %s: expected definitions of custom resources, found no YAML file", name, dir)
		}
		for _, file := range found {
			if files[path.Join("crds", filepath.Base(file))], err = os.ReadFile(file); err != nil {
				return fmt.Errorf("chart server: define %s: %w", name, err)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defined[name] = files
	packages := maps.Clone(s.packages)
	for chart := range packages {
		if chart.Name != name {
			continue
		}
		data, err := pack(chart, files)
		if err != nil {
			return fmt.Errorf("chart server: define %s: %w", name, err)
		}
		packages[chart] = data
	}
	return s.publish(packages)
}

// Charts are what is served, in order.
func (s *Server) Charts() []Chart {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(s.packages), Chart.Compare)
}

// Close ends the server. It may be called again.
func (s *Server) Close() error {
	if err := s.server.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("chart server: %w", err)
	}
	return nil
}

func (s *Server) serveIndex(w http.ResponseWriter, _ *http.Request) {
	s.mu.RLock()
	data := s.index
	s.mu.RUnlock()
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(data)
}

func (s *Server) servePackage(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for chart, data := range s.packages {
		if chart.file() == r.PathValue("file") {
			w.Header().Set("Content-Type", "application/gzip")
			_, _ = w.Write(data)
			return
		}
	}
	http.NotFound(w, r)
}

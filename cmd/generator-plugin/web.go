package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/service/liveness"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/web"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// webFlags configure the pages.
type webFlags struct {
	address, sourceURL, proxyHeader string
	proxies                         []string
	probeInterval                   time.Duration
}

func (w *webFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&w.address, "web-addr", "", "`address` to serve the fleet's pages on; without it, there are none")
	fs.StringVar(&w.sourceURL, "web-source-url", "", "`URL` of a line in the repository, for links in the pages, with {file}, {line} and {revision}; default: by --source, for GitHub, GitLab, Gitea, Forgejo or Bitbucket")
	fs.StringSliceVar(&w.proxies, "web-trusted-proxy", nil, "`addresses` or networks of proxies that sign users in, and name their groups in --web-proxy-header; may be repeated; default: none")
	fs.DurationVar(&w.probeInterval, "web-probe-interval", liveness.DefaultInterval, "`time` between two probes of members' API servers with a known address; 0 for never: pages and rollouts then repeat what the engine says")
	fs.StringVar(&w.proxyHeader, "web-proxy-header", web.DefaultProxyHeader, "`header` in which a trusted proxy names a user's groups: the first that is a token's name in --tokens-file gives its scope")
}

// listen opens the listener of the pages, nil without --web-addr.
func (w *webFlags) listen(ctx context.Context) (net.Listener, error) {
	if w.address == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", w.address)
	if err != nil {
		return nil, fmt.Errorf("--web-addr: %w", err)
	}
	return listener, nil
}

// site makes the pages of a server. They are read-only, and show what the server serves.
func (f *flags) site(s *server.Server, kept *store.Store) (*web.Site, error) {
	o := web.Options{Live: f.live, Fleet: s.Refresher(), Tokens: s.Tokens(), Holds: s.Holds, Rollouts: s.Rollouts, Store: kept, SourceURL: f.web.sourceURL, Proxies: f.web.proxies, ProxyHeader: f.web.proxyHeader, Logger: f.Logger}
	if o.SourceURL == "" {
		o.SourceURL = f.repository.Location
	}
	o.TLS, o.VerifyClient = s.TLS()
	return web.New(o)
}

// addresses returns a function that returns the known addresses of members' API servers, where they
// are needed: for pages and rollouts.
func addresses(state func() *fleetstate.State, areNeeded func() bool) func() map[string]string {
	return func() map[string]string {
		st, all := state(), map[string]string{}
		if st == nil || !areNeeded() {
			return all
		}
		for _, c := range st.Clusters() {
			if c.Facts.Address != "" {
				all[c.Member.Name] = c.Facts.Address
			}
		}
		return all
	}
}

// live returns the current reports of the hub's engine and API servers; nothing without statuses.
func (f *flags) live() overview.Live {
	out := overview.Live{Hub: f.Hub}
	if f.statuses == nil {
		return out
	}
	out.Version = f.statuses.Version()
	out.Status = func(name string) (overview.Status, bool) {
		s, ok := f.statuses.Of(name)
		return overview.Status(s), ok
	}
	if since, err := f.statuses.Silent(); err != nil {
		out.Silent, out.Since = fmt.Sprintf("not reported since %s UTC: %v", since.UTC().Format(time.DateTime), err), since
	}
	if f.prober != nil {
		out.Version += f.prober.Version()
		out.Unreachable = f.prober.Silent
	}
	return out
}

// serveWeb serves the pages until the context ends. A failure ends only the pages: responses to
// engines continue.
func (f *flags) serveWeb(ctx context.Context, stderr io.Writer, listener net.Listener, s *server.Server, kept *store.Store) {
	site, err := f.site(s, kept)
	if err == nil {
		scheme := "http"
		if f.TLSCert != "" {
			scheme = "https"
		}
		fmt.Fprintf(stderr, "generator-plugin: pages at %s://%s\n", scheme, listener.Addr())
		err = site.Serve(ctx, listener)
	}
	if err != nil {
		f.Logger.Error("the pages are not served", "error", err)
	}
}

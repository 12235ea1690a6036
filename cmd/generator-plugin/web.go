package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/overview"
	"github.com/argosy-hub/argosy/internal/server"
	"github.com/argosy-hub/argosy/internal/web"
)

// webFlags configure the pages.
type webFlags struct {
	address, sourceURL, proxyHeader string
	proxies                         []string
}

func (w *webFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&w.address, "web-addr", "", "`address` to serve the pages on that show the fleet; without it, there are none")
	fs.StringVar(&w.sourceURL, "web-source-url", "", "`URL` of a line in the repository, for links in the pages, with {file}, {line} and {revision}; default: that of GitHub, GitLab, Gitea, Forgejo or Bitbucket, by --source")
	fs.StringSliceVar(&w.proxies, "web-trusted-proxy", nil, "`addresses` or networks of proxies that sign users in, and name their groups in --web-proxy-header; may be repeated; default: none")
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

// site makes the pages of a server. They are read-only, and know what the server serves.
func (f *flags) site(s *server.Server) (*web.Site, *hub.Statuses, error) {
	o := web.Options{Fleet: s.Refresher(), Tokens: s.Tokens(), Refused: s.RefusedRemovals, Waits: s.Waits, Rollouts: s.Rollouts, SourceURL: f.web.sourceURL, Proxies: f.web.proxies, ProxyHeader: f.web.proxyHeader, Logger: f.Logger}
	statuses, err := f.statuses()
	if err != nil {
		return nil, nil, err
	}
	if statuses != nil {
		o.Live = func() overview.Live { return live(statuses) }
	}
	if o.SourceURL == "" {
		o.SourceURL = f.repository.Location
	}
	o.TLS, o.VerifyClient = s.TLS()
	site, err := web.New(o)
	return site, statuses, err
}

// statuses watches what the hub's engine reports; nil where the facts do not come from it.
func (f *flags) statuses() (*hub.Statuses, error) {
	if f.fluxNamespace == "" {
		return f.applications, nil
	}
	config, err := hub.LoadConfig(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	return hub.NewFluxStatuses(hub.Options{Config: config, Namespace: f.fluxNamespace, Log: f.Logger})
}

// live is what statuses say now.
func live(statuses *hub.Statuses) overview.Live {
	out := overview.Live{Version: statuses.Version(), Status: func(name string) (overview.Status, bool) {
		s, ok := statuses.Of(name)
		return overview.Status(s), ok
	}}
	if since, err := statuses.Silent(); err != nil {
		out.Silent, out.Since = fmt.Sprintf("not reported since %s UTC: %v", since.UTC().Format(time.DateTime), err), since
	}
	return out
}

// serveWeb serves the pages until the context ends. A failure ends them alone: responses to engines
// go on.
func (f *flags) serveWeb(ctx context.Context, stderr io.Writer, listener net.Listener, s *server.Server) {
	site, statuses, err := f.site(s)
	if err == nil {
		if statuses != nil && statuses != f.applications {
			var running sync.WaitGroup
			defer running.Wait()
			running.Go(func() { statuses.Run(ctx) })
		}
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

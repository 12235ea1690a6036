package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/expand/argocd"
	"github.com/argosy-hub/argosy/internal/expand/helm"
	"github.com/argosy-hub/argosy/internal/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/plan"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
)

// compared is what comparePlan finds.
type compared struct {
	plan     *plan.Plan
	foreseen foreseen
	// base and head are the problems of the two revisions.
	base, head []problem.Problem
}

// comparePlan builds both states, the second from the first, and follows the pipelines of all hubs that both have.
func comparePlan(before, after *snapshot.Snapshot, f facts.Set, o expansion) (compared, error) {
	base, err := known(before, f)
	if err != nil {
		return compared{}, &plan.StateError{Base: true, Err: err}
	}
	head, err := generator.Build(base, after, f)
	if err == nil {
		if settled, other := head.SettledFacts(base); other { // the hub's facts are from before the change, the plan is of what comes after
			head, err = generator.Build(base, after, settled)
		}
	}
	if err != nil {
		return compared{}, &plan.StateError{Err: err}
	}
	base = base.WithCatalogs(o.catalogs(base, before))
	head = head.WithCatalogs(o.catalogs(head, after))
	out := compared{plan: plan.Compare(base, head)}
	out.foreseen = foreseen{guard.Foresee(base, head, time.Now()), head.Fleet}
	warnings, strange := unregistered(head, o.only)
	out.foreseen.all = slices.DeleteFunc(out.foreseen.all, func(f guard.Foreseen) bool { return slices.Contains(strange, f.Hub) })
	out.head = append(unread(head, before, after, o.only), warnings...)
	memo := &expand.Memo{}
	for _, hub := range head.Fleet.Hubs() {
		if o.only != "" && o.only != hub || !slices.Contains(base.Fleet.Hubs(), hub) {
			continue
		}
		was, is := o.hub(base, before, hub, memo), o.hub(head, after, hub, memo)
		out.foreseen.asked(is)
		if len(was.Roots())+len(is.Roots()) == 0 {
			continue // a fleet that is bootstrapped from elsewhere: the answers are all that is known of it
		}
		out.plan.Expand(was, is, o.progress.of(hub))
		out.base, out.head = append(out.base, was.Problems()...), append(out.head, is.Problems()...)
	}
	o.progress.done()
	return out, nil
}

// known is a state in which members that cannot be computed are left out, where nothing good is known of them.
func known(s *snapshot.Snapshot, f facts.Set) (*generator.State, error) {
	st, err := generator.Build(nil, s, f)
	if err != nil || len(st.Problems) == 0 {
		return st, err
	}
	homes := generator.Homes{}
	for _, q := range st.Quarantined("") {
		homes[q.ID] = nil
	}
	return generator.Restore(s, f, homes)
}

// expansion is how pipelines are followed, and other revisions of the repository read.
type expansion struct {
	tools    expand.Tools
	kube     kubernetes
	at       func(string) (*snapshot.Snapshot, error)
	read     map[string]*generator.Catalog // those of other revisions, by revision and file
	only     string                        // this hub alone
	progress *progress
}

func (e expansion) hub(st *generator.State, s *snapshot.Snapshot, hub string, memo *expand.Memo) *expand.Hub {
	return expand.New(expand.Options{State: st, Snapshot: s, Hub: hub, Tools: e.tools, Memo: memo, At: e.at, KubeVersion: e.kube.version, APIVersions: e.kube.apis})
}

// revisionFlag adds --revision, which newExpansion takes.
func revisionFlag(cmd *cobra.Command, to *[]string, what string) {
	cmd.Flags().StringArrayVar(to, "revision", nil, "take another revision of this repository for one that "+what+" are read at: `NAME=REV`, may be given several times")
}

// newExpansion reads other revisions from the repository itself, each once; instead names others to take for them.
func (o *options) newExpansion(ctx context.Context, instead []string, stderr io.Writer) (expansion, error) {
	names := map[string]string{}
	for _, pair := range instead {
		name, rev, ok := strings.Cut(pair, "=")
		if !ok || name == "" || rev == "" {
			return expansion{}, usageError([]string{"for example --revision release-next=HEAD"}, "--revision %q: expected NAME=REV", pair)
		}
		names[name] = rev
	}
	var mu sync.Mutex
	type read struct {
		snap *snapshot.Snapshot
		err  error
	}
	done := map[string]read{}
	at := func(rev string) (*snapshot.Snapshot, error) {
		mu.Lock()
		defer mu.Unlock()
		if r, ok := done[rev]; ok {
			return r.snap, r.err
		}
		candidates := []string{rev, "origin/" + rev}
		if other, ok := names[rev]; ok {
			candidates = []string{other}
		}
		var r read
		for _, candidate := range candidates {
			if r.snap, r.err = git.Revision(ctx, o.repo, candidate, charts); r.err == nil {
				break
			}
		}
		if r.err != nil {
			r.err = fmt.Errorf("the clone has no revision %q", candidates[0])
		}
		done[rev] = r
		return r.snap, r.err
	}
	return expansion{
		tools: expand.Tools{ApplicationSets: argocd.New(), Charts: helm.New(), Kustomizations: kustomize.Kustomizations{}}, at: at, read: map[string]*generator.Catalog{}, progress: newProgress(stderr),
	}, nil
}

// charts are the limits of snapshots whose charts are rendered.
var charts = source.Limits{Charts: true}

// progress says on a terminal how far a long command is.
type progress struct {
	w     io.Writer // nil: there is nobody to tell
	begun time.Time
	last  time.Time
}

// patience is how long a command takes before it says how far it is, and step how often it does.
const (
	patience = 2 * time.Second
	step     = 200 * time.Millisecond
)

func newProgress(w io.Writer) *progress {
	p := &progress{begun: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.w = w
	}
	return p
}

// of tells of objects of one hub.
func (p *progress) of(hub string) func(int) {
	if p == nil || p.w == nil {
		return nil
	}
	return func(n int) {
		if now := time.Now(); now.Sub(p.begun) > patience && now.Sub(p.last) > step {
			p.last = now
			fmt.Fprintf(p.w, "\r\x1b[K%s: %d objects", hub, n)
		}
	}
}

// done takes the last word back.
func (p *progress) done() {
	if p != nil && p.w != nil && !p.last.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Command benchhub measures what a push costs a real Argo CD (make bench-hub): its repo server, its
// ApplicationSet controller and an API server, with thousands of Applications.
//
//  1. Two hubs, one after the other: plain ApplicationSets, a nested matrix of clusters and Git
//     files for each component, and Argosy's, a plugin generator for each component. Both make the
//     same Applications; after each push they are compared.
//  2. The clusters do not exist, and the application controller does not run: what is measured ends
//     with the last Application written.
//  3. Both hear of a push by a webhook, as their documentation says, and ask by themselves only
//     after half an hour.
//  4. Processor time is the figure that counts. Times are those of this machine, however busy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

type options struct {
	checkout, argocd             string
	clusters, components, rounds int
	within                       time.Duration
	forms                        string
	progress                     func(line string)
}

// forms are the values of -sides.
var forms = map[string]form{"plain": plain, "folders": folders, "argosy": argosy}

func main() {
	process.Init()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "benchhub: %v\n", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("benchhub", flag.ContinueOnError)
	flags.StringVar(&o.checkout, "checkout", ".", "the repository's checkout, with bin/generator-plugin built")
	flags.StringVar(&o.argocd, "argocd", argocd.Newest, "which Argo CD: "+strings.Join(argocd.Versions(), ", "))
	flags.IntVar(&o.clusters, "clusters", 100, "clusters at the beginning; each round adds one")
	flags.IntVar(&o.components, "components", 40, "components, each with an ApplicationSet")
	flags.IntVar(&o.rounds, "rounds", 3, "how often each push is made")
	flags.DurationVar(&o.within, "within", 0, "the first side begins no round that would end later than this after its start; 0 is no limit")
	flags.StringVar(&o.forms, "sides", "plain,argosy", "what is measured: plain, folders (plain with a file for each component), argosy")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !slices.Contains(argocd.Versions(), o.argocd) || o.clusters < teams || o.components < o.rounds+5 || o.rounds < 1 {
		return fmt.Errorf("expected -argocd %s, at least %d clusters, and 5 components more than rounds", strings.Join(argocd.Versions(), "|"), teams)
	}
	var err error
	if o.checkout, err = filepath.Abs(o.checkout); err != nil {
		return err
	}
	began := time.Now()
	o.progress = func(line string) { fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), line) }
	t := table{}
	var first *measured
	for name := range strings.SplitSeq(o.forms, ",") {
		as, known := forms[name]
		if !known {
			return fmt.Errorf("-sides %q; expected some of %s", name, strings.Join(slices.Sorted(maps.Keys(forms)), ", "))
		}
		m, err := measure(ctx, o, as)
		if err != nil {
			return fmt.Errorf("%s: %w", as, err)
		}
		t.add(as, m)
		if first == nil {
			first = m
			o.rounds, o.within = len(m.results[m.steps[1]]), 0
			continue
		}
		for i, specs := range m.specs {
			if diff := different(first.specs[i], specs); diff != "" {
				return fmt.Errorf("after push %d: %s", i, diff)
			}
		}
		o.progress(fmt.Sprintf("the same %d Applications as the first side, after each of %d pushes", len(m.specs[len(m.specs)-1]), len(m.specs)-1))
	}
	fmt.Fprintf(out, "Argo CD %s, %d clusters x %d components, rounds: %d (median; the range of the whole processor time)\n\n", o.argocd, o.clusters, o.components, o.rounds)
	t.print(out)
	return nil
}

// measured is what a side took, and its Applications at the beginning and after each push.
type measured struct {
	results map[string][]result // by step
	steps   []string
	specs   []map[string]string
}

// measure runs a side.
func measure(ctx context.Context, o options, as form) (m *measured, err error) {
	binaries, err := hub.Build(ctx, o.checkout, o.progress, "etcd", "kubernetes", "kwok", "argocd-"+o.argocd)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "argosy-bench-hub-")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &side{o: o, as: as, dir: dir, binaries: binaries, fleet: &fleet{clusters: o.clusters, components: o.components, edits: map[string]int{}}, touched: map[string]bool{}}
	defer func() {
		cancel()
		err = errors.Join(err, s.stop())
		if err == nil {
			err = os.RemoveAll(dir)
			return
		}
		o.progress("logs are in " + filepath.Join(dir, "log"))
	}()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	m = &measured{results: map[string][]result{}}
	note := func(name string, r result) error {
		if !slices.Contains(m.steps, name) {
			m.steps = append(m.steps, name)
		}
		m.results[name] = append(m.results[name], r)
		specs, err := s.specs(ctx)
		m.specs = append(m.specs, specs)
		return err
	}
	began := time.Now()
	idle, err := s.rest(ctx, restFor)
	if err == nil {
		err = note(atRest, idle)
	}
	if err != nil {
		return nil, err
	}
	for round := range o.rounds {
		if each := time.Since(began) / time.Duration(max(1, round)); o.within > 0 && round > 0 && time.Since(began)+each > o.within {
			break
		}
		for _, st := range s.fleet.steps(round) {
			r, err := s.step(ctx, st)
			if err != nil {
				return nil, err
			}
			s.say("round %d, %s: %.1f s of processor time, the last of %d Applications after %.1f s", round+1, st.name, r.all(), r.written, r.last.Seconds())
			if err := note(st.name, r); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

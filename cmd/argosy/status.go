package main

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/planpage"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/hold"
)

func newStatus() *cobra.Command {
	var service serviceFlags
	var hub, output string
	cmd := &cobra.Command{
		Use: "status [CLUSTER [GROUP/COMPONENT]] --service URL --token-file FILE", Short: "Show what is held back, why and until what",
		Long:    "Status queries a hub's service: what does not follow the newest revision, why, since when and until what.",
		Example: "  argosy status retail-prod-eu-1 addons/external-dns --service http://127.0.0.1:4355 --token-file token",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{}
			for i, name := range []string{"cluster", "component"}[:len(args)] {
				query.Set(name, args[i])
			}
			if len(args) == 2 && !strings.Contains(args[1], "/") {
				return problem.Usage([]string{"such as addons/external-dns"}, "%q; expected GROUP/COMPONENT", args[1])
			}
			if hub != "" {
				query.Set("hub", hub)
			}
			var list hold.List
			body, err := service.ask(cmd.Context(), "/api/v1/holds?"+query.Encode(), hold.Kind, &list)
			if err != nil {
				return err
			}
			w := report.PrintableWriter{W: cmd.OutOrStdout()}
			if output == "json" {
				_, err := w.Write(body)
				return err
			}
			printRevision(w, list)
			if len(args) > 0 {
				printHolds(w, list, strings.Join(args, " "))
			} else {
				err = printSummary(w, list)
			}
			switch {
			case len(list.Items) == 0:
				fmt.Fprintln(w, "nothing is held")
			case list.More > 0:
				fmt.Fprintf(w, "\nand %d more, which the service does not list\n", list.More)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&hub, "hub", "", "only this `hub`")
	service.add(cmd)
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// printRevision prints what the service serves, and which inputs it cannot read.
func printRevision(w io.Writer, l hold.List) {
	ready := "ready"
	if !l.Ready {
		ready = "not ready"
	}
	fmt.Fprintf(w, "revision %s, served since %s, %s\n", brief(l.Revision), clock(l.Since), ready)
	for _, s := range l.Stale {
		fmt.Fprintf(w, "the %s cannot be read or used since %s: %s\n", s.Cause, clock(s.Since), s.Detail)
	}
}

// printHolds prints each hold of a cluster or a component.
func printHolds(w io.Writer, l hold.List, subject string) {
	served := l.Revision
	if len(l.Items) > 0 { // in the order in which they decide
		served = l.Items[0].Revision
	}
	fmt.Fprintf(w, "\n%s: desired %s, served %s\n", subject, brief(l.Revision), cmp.Or(brief(served), "unknown"))
	for _, h := range l.Items {
		fmt.Fprintf(w, "  %s since %s, until %s\n      %s\n", strings.TrimSpace(string(h.Reason)+" "+h.Subject()), clock(h.Since), until(h), h.Text())
	}
}

// printSummary prints the holds of all clusters by reason. Holds that differ in their cluster alone
// share a line.
func printSummary(w io.Writer, l hold.List) error {
	cards := hold.Cards(l.Items)
	for _, s := range l.Summary {
		on := ""
		if s.Members > 0 {
			on = " on " + planpage.Plural(s.Members, "member")
		}
		fmt.Fprintf(w, "\n%s: %s%s, the oldest since %s, until %s\n", s.Reason, planpage.Plural(s.Holds, "hold"), on, clock(s.Oldest), s.Ends)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, c := range cards {
			if c.Reason == s.Reason {
				fmt.Fprintf(t, "  %s\tsince %s\tserved %s\t%s\n", c.Scope(3), clock(c.Since), cmp.Or(brief(c.Revision), "unknown"), c.Text())
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// until says what ends a hold.
func until(h hold.Hold) string {
	if h.Until.IsZero() {
		return h.Ends
	}
	return h.Ends + ", not before " + clock(h.Until)
}

// clock formats a time.
func clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format(time.RFC3339)
}

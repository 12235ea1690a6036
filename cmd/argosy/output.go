package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/report"
)

// writeData writes an envelope as JSON or YAML.
func writeData(w io.Writer, output string, envelope any) error {
	if output == "yaml" {
		return report.WriteYAML(w, envelope)
	}
	return report.WriteJSON(w, envelope)
}

// paged writes text to standard output, on a terminal through a pager: ARGOSY_PAGER, else PAGER,
// else less. The pager less ends by itself if the text fits the screen (LESS=FRX, as Git sets it).
// If the pager is empty or cat, the text is written directly.
func paged(cmd *cobra.Command, write func(io.Writer, report.Style) error) error {
	w := cmd.OutOrStdout()
	style := styleOf(w)
	pager := pagerOf(w)
	if pager == "" {
		return write(w, style)
	}
	var text bytes.Buffer
	if err := write(&text, style); err != nil {
		return err
	}
	p := exec.CommandContext(cmd.Context(), "sh", "-c", pager) //nolint:gosec // the user's own command
	p.Stdin, p.Stdout, p.Stderr = bytes.NewReader(text.Bytes()), unwrapped(w), cmd.ErrOrStderr()
	if _, ok := os.LookupEnv("LESS"); !ok {
		p.Env = append(os.Environ(), "LESS=FRX")
	}
	if err := p.Run(); err != nil && !errors.Is(err, syscall.EPIPE) { // a pager may end before it has read everything
		_, err = w.Write(text.Bytes())
		return err
	}
	return nil
}

// pagerOf returns the command of the pager for a writer; empty without a terminal.
func pagerOf(w io.Writer) string {
	if term := os.Getenv("TERM"); !isTerminal(w) || term == "" || term == "dumb" {
		return ""
	}
	for _, name := range []string{"ARGOSY_PAGER", "PAGER"} {
		if pager, ok := os.LookupEnv(name); ok {
			if pager == "cat" {
				return ""
			}
			return pager
		}
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}

// columns lists the columns of a table of parameter sets: a title, and the key or the path of keys.
var columns = []struct{ title, key string }{
	{"CLUSTER", "name"},
	{"TENANT", "tenant"},
	{"ENVIRONMENT", "environment"},
	{"MODEL", "model"},
	{"ENGINE", "engine"},
	{"APPLICATION", "applicationName"},
	{"RELEASE", "release"},
	{"RELEASE", "release.type"},
	{"CHART", "chart.name"},
	{"PATH", "chart.path"},
	{"VERSION", "chart.version"},
	{"SOURCE", "source.path"},
	{"SOURCE", "source.chart"},
	{"REVISION", "source.targetRevision"},
	{"DELETION", "deletion"},
}

// writeParams writes a response unchanged, as YAML, or as a table of its parameter sets.
func writeParams(cmd *cobra.Command, response []byte, output string) error {
	w := cmd.OutOrStdout()
	switch output {
	case "json":
		_, err := w.Write(response)
		return err
	case "yaml":
		return report.WriteYAML(w, json.RawMessage(response))
	}
	var r struct {
		Output struct{ Parameters []map[string]any }
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return err
	}
	return paged(cmd, func(w io.Writer, _ report.Style) error { return writeTable(w, r.Output.Parameters) })
}

// writeTable writes parameter sets as a table, without columns in which no set has a value.
func writeTable(w io.Writer, sets []map[string]any) error {
	shown := slices.Clone(columns)
	shown = slices.DeleteFunc(shown, func(c struct{ title, key string }) bool {
		return !slices.ContainsFunc(sets, func(set map[string]any) bool { return textAt(set, c.key) != "" })
	})
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := func(text func(i int) string) {
		cells := make([]string, len(shown))
		for i := range shown {
			cells[i] = text(i)
		}
		fmt.Fprintln(table, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	line(func(i int) string { return shown[i].title })
	for _, set := range sets {
		line(func(i int) string { return cmp.Or(textAt(set, shown[i].key), "-") })
	}
	return table.Flush()
}

// textAt returns the text at a path of keys, or "".
func textAt(set map[string]any, path string) string {
	key, rest, deeper := strings.Cut(path, ".")
	if deeper {
		below, _ := set[key].(map[string]any)
		return textAt(below, rest)
	}
	text, _ := set[key].(string)
	return report.Printable(text)
}

// newProgress returns a Progress that shows only on a terminal.
func newProgress(w io.Writer) *report.Progress {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return report.NewProgress(nil)
	}
	return report.NewProgress(unwrapped(w))
}

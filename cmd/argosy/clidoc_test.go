package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const cliDoc = "../../docs/reference/cli.md"

// The part of cli.md between these lines is generated (make docs); the text before it is written by
// hand.
const (
	generatedFrom = "<!-- Generated from the commands by make docs; do not edit from here on. -->\n"
	generatedTo   = "<!-- End of the generated part. -->\n"
)

// docs/reference/cli.md holds what --help prints.
func TestCLIDocIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	root := newRoot(nil)
	root.InitDefaultCompletionCmd()
	describe(&b, root)
	page, err := os.ReadFile(cliDoc)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(page), generatedFrom)
	_, after, closed := strings.Cut(rest, generatedTo)
	if !found || !closed {
		t.Fatalf("%s has no generated part", cliDoc)
	}
	want := before + generatedFrom + "\n" + b.String() + "\n" + generatedTo + after
	if *update {
		require.NoError(t, os.WriteFile(cliDoc, []byte(want), 0o644))
	} else if string(page) != want {
		t.Errorf("%s is out of date: run make docs", cliDoc)
	}
}

// Help fits a screen: the rest is in cli.md.
func TestPlanHelpIsShort(t *testing.T) {
	var out bytes.Buffer
	if status := run(t.Context(), []string{"plan", "--help"}, strings.NewReader(""), &out, &out); status != exitGood {
		t.Fatal(status)
	}
	if lines := strings.Count(out.String(), "\n"); lines > 34 {
		t.Errorf("plan --help has %d lines, at most 34", lines)
	}
}

func describe(b *bytes.Buffer, cmd *cobra.Command) {
	fmt.Fprintf(b, "## %s\n\n", cmd.CommandPath())
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(b, "%s\n\n", about)
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(b, "    %s\n\n", cmd.UseLine())
	}
	flagTable(b, cmd.LocalFlags())
	if cmd.Example != "" {
		fmt.Fprintf(b, "Examples:\n\n```sh\n%s\n```\n\n", unindent(cmd.Example))
	}
	for _, sub := range cmd.Commands() {
		// The completion scripts' own pages are cobra's and long; --help has them.
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			describe(b, sub)
		}
	}
	if !cmd.HasParent() {
		b.WriteString("## argosy completion\n\nPrint a script with which the shell completes commands, flags, hubs, clusters, groups, components and paths:\n" +
			"`argosy completion bash`, `zsh`, `fish` or `powershell`. `argosy completion bash --help` says where to put it.\n")
	}
}

func unindent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

func flagTable(b *bytes.Buffer, flags *pflag.FlagSet) {
	var rows []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", name, usage, value))
	})
	if len(rows) > 0 {
		fmt.Fprintf(b, "| flag | meaning | default |\n|---|---|---|\n%s\n\n", strings.Join(rows, "\n"))
	}
}

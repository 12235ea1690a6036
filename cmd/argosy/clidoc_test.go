package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const cliDoc = "../../docs/reference/cli.md"

// docs/reference/cli.md says what --help says.
func TestCLIDocIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("<!-- Generated from the command: go test ./cmd/argosy -update -->\n# The command argosy\n\n")
	root := newRoot()
	root.InitDefaultCompletionCmd()
	describe(&b, root)
	if *update {
		if err := os.WriteFile(cliDoc, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(cliDoc)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is out of date: run go test ./cmd/argosy -update", cliDoc)
	}
}

func describe(b *bytes.Buffer, cmd *cobra.Command) {
	if cmd.HasParent() {
		fmt.Fprintf(b, "## %s\n\n", cmd.CommandPath())
	}
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
		b.WriteString("## argosy completion\n\nPrint a script that lets the shell complete commands, flags, hubs, clusters, groups, components and paths:\n" +
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

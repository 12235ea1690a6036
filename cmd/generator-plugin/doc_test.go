package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var update = flag.Bool("update", false, "rewrite docs/reference/service.md")

// The reference of the service's flags is what the command says of itself.
func TestServiceDocIsUpToDate(t *testing.T) {
	const path = "../../docs/reference/service.md"
	var b strings.Builder
	b.WriteString("<!-- Generated from the command: go test ./cmd/generator-plugin -update -->\n# The command generator-plugin\n\n" +
		"The service. The [HTTP API](api.md) has its responses and the files of [tokens](api.md#tokens). Exit status: 0\n" +
		"good, 2 wrong usage or failing input or output.\n\n")
	b.WriteString("| flag | meaning | default |\n|---|---|---|\n")
	newCommand(&flags{}, nil).Flags().VisitAll(func(f *pflag.Flag) {
		name, text := pflag.UnquoteUsage(f)
		b.WriteString("| `" + strings.TrimRight("--"+f.Name+" "+name, " ") + "` | " + text + " | " + code(f.DefValue) + " |\n")
	})
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	if string(have) != b.String() {
		t.Errorf("%s is out of date: run go test ./cmd/generator-plugin -update", path)
	}
}

func code(value string) string {
	if value == "" {
		return ""
	}
	return "`" + value + "`"
}

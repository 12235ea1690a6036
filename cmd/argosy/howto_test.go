package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var console = regexp.MustCompile("(?s)```console\n(.*?)```")

// A page shows what its commands print, run in order over the files of testdata/how-to. (The
// working directory is the process's: the tests are not parallel.)
func TestHowTos(t *testing.T) {
	for _, name := range []string{"eks-managed-argocd", "import-a-fleet"} {
		t.Run(name, func(t *testing.T) { runHowTo(t, name) })
	}
}

func runHowTo(t *testing.T, name string) {
	t.Helper()
	page, err := filepath.Abs("../../docs/how-to/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	files, err := txtar.ParseFile("testdata/how-to/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := txtar.Write(files, dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	blocks := 0
	got := console.ReplaceAllStringFunc(string(text), func(block string) string {
		blocks++
		line, _, _ := strings.Cut(strings.TrimPrefix(block, "```console\n"), "\n")
		var out, errs bytes.Buffer
		run(context.Background(), strings.Fields(line)[2:], strings.NewReader(""), &out, &errs)
		return "```console\n" + line + "\n" + out.String() + errs.String() + "```"
	})
	if blocks == 0 {
		t.Fatal("the page shows no command")
	}
	if got == string(text) {
		return
	}
	if !*update {
		t.Errorf("the page (-) and what its commands print (+):\n%s", cmp.Diff(string(text), got))
	} else if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

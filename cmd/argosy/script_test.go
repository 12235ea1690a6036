package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the scripts' goldens and docs/reference/cli.md")

// The scripts exercise the command as users do. Besides testscript's own commands they have:
//
//	argosy args...            runs the command in the tests' process; exec argosy gives it one of its own
//	exits N command args...   runs a command and wants this exit status
//	table FIELD...            the parameter sets on the last stdout as a text table, in the file "table"
//	values APPLICATION        the helmValues of one parameter set on the last stdout, in the file "values"
//	remember DIR, unchanged DIR   whether anything below a folder was written in between
//	sparse FILE SIZE          a file of that many bytes that takes no disk space
//	replace FILE OLD NEW      the first OLD in a file becomes NEW, where \n is a line's end; an empty OLD is the file's end
//	repeat FILE TEXT N ...    a file of TEXT N times, and so on
//	masked FILE               the last stdout without commits' ids, folders' digests, and days
//
// and those of chartServers, apiServer and holdService. Credentials and caches of the user who runs
// the tests are out of their reach.
//
// $REPO is this repository: a fleet of its own. Git's commits have fixed authors and dates. $DAY is
// in a week.
func TestScripts(t *testing.T) {
	dir := filepath.Join(repository, "cmd/argosy/testdata/script") // absolute: commands change the working directory
	// Commits have the same ids every time, and no user's configuration counts.
	variables := append([]string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "REPO=" + repository}, plainGit...)
	for _, v := range []string{"GIT_AUTHOR_", "GIT_COMMITTER_"} {
		variables = append(variables, v+"NAME=fleet", v+"EMAIL=fleet@example.com", v+"DATE=2025-01-01T00:00:00Z")
	}
	folders := []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "DOCKER_CONFIG", "HELM_CONFIG_HOME"}
	s := newScripts(t, dir, append(names(variables), folders...))
	exits := func(ts *testscript.TestScript, neg bool, args []string) { exits(ts, s, neg, args) }
	commands := chartServers()
	maps.Copy(commands, hostile())
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"argosy": s.command, "apiserver": apiServer, "holdservice": holdService, "replace": replaceText, "masked": masked,
		"exits": exits, "table": table, "values": values, "remember": remember, "unchanged": unchanged, "sparse": sparse, "repeat": repeat,
	})
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, variables...)
			env.Setenv("DAY", time.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly))
			for _, v := range folders {
				env.Setenv(v, filepath.Join(env.WorkDir, "home", v))
			}
			return nil
		},
		Cmds: commands,
	})
}

// names are the names of variables.
func names(variables []string) []string {
	var out []string
	for _, v := range variables {
		name, _, _ := strings.Cut(v, "=")
		out = append(out, name)
	}
	return out
}

func need(ts *testscript.TestScript, neg bool, args []string, n int, usage string) {
	if neg || len(args) < n {
		ts.Fatalf("usage: %s", usage)
	}
}

func exits(ts *testscript.TestScript, s *scripts, neg bool, args []string) {
	need(ts, neg, args, 2, "exits N command args...")
	status := 0
	if args[1] == "argosy" {
		status = s.run(ts, args[2:])
	} else if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		status = e.ExitCode()
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

func sets(ts *testscript.TestScript) []map[string]any {
	var answer struct {
		Output struct {
			Parameters []map[string]any `json:"parameters"`
		} `json:"output"`
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	dec.UseNumber()
	ts.Check(dec.Decode(&answer))
	return answer.Output.Parameters
}

func table(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "table FIELD...")
	var b bytes.Buffer
	for _, set := range sets(ts) {
		var row []string
		for _, field := range args {
			row = append(row, cell(set, field))
		}
		fmt.Fprintln(&b, strings.Join(row, " "))
	}
	ts.Check(os.WriteFile(ts.MkAbs("table"), b.Bytes(), 0o644))
}

// cell is a set's value at a dotted path; a slash takes the place of the dot before keys that have
// dots themselves.
func cell(set map[string]any, field string) string {
	path, last, found := strings.Cut(field, "/")
	parts := strings.Split(path, ".")
	if found {
		parts = append(parts, last)
	}
	var v any = set
	for _, part := range parts {
		m, ok := v.(map[string]any)
		if !ok {
			return "-"
		}
		if v, ok = m[part]; !ok {
			return "-"
		}
	}
	if s, ok := v.(string); ok {
		if s == "" {
			return `""`
		}
		return s
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func values(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "values APPLICATION")
	for _, set := range sets(ts) {
		if set["applicationName"] == args[0] {
			ts.Check(os.WriteFile(ts.MkAbs("values"), []byte(cell(set, "helmValues")), 0o644))
			return
		}
	}
	ts.Fatalf("no parameter set has the applicationName %s", args[0])
}

// listing is every path below a folder with a digest of its content.
func listing(ts *testscript.TestScript, dir string) string {
	var b strings.Builder
	root := ts.MkAbs(dir)
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(path, root), d.Type())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

func remember(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "remember DIR")
	ts.Setenv("REMEMBERED", listing(ts, args[0]))
}

func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "unchanged DIR")
	if before, after := ts.Getenv("REMEMBERED"), listing(ts, args[0]); before != after {
		ts.Fatalf("%s has changed:\nbefore:\n%safter:\n%s", args[0], before, after)
	}
}

func replaceText(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "replace file old new")
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	ts.Check(err)
	old, updated := strings.ReplaceAll(args[1], `\n`, "\n"), strings.ReplaceAll(args[2], `\n`, "\n")
	text := string(data) + updated
	if old != "" {
		if !strings.Contains(string(data), old) {
			ts.Fatalf("%s has no %q", args[0], old)
		}
		text = strings.Replace(string(data), old, updated, 1)
	}
	ts.Check(os.WriteFile(file, []byte(text), 0o600))
}

// varying are the parts of a plan that say nothing of what it is about, and change with every file.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b[0-9a-f]{40}\b|sha256:[0-9a-f]{32}\b`), "REVISION"},
	{regexp.MustCompile(`\(([0-9a-f]{7})\)`), "(COMMIT)"},
	{regexp.MustCompile(`\b[0-9a-f]{7}:`), "COMMIT:"},
	{regexp.MustCompile(`("?expires"?): "?\d{4}-\d\d-\d\d"?`), "$1: DAY"},
}

func masked(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "masked FILE")
	text := ts.ReadFile("stdout")
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func sparse(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "sparse FILE SIZE")
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(f.Truncate(size))
	ts.Check(f.Close())
}

func repeat(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "repeat FILE TEXT N [TEXT N]...")
	var b strings.Builder
	for i := 1; i+1 < len(args); i += 2 {
		n, err := strconv.Atoi(args[i+1])
		ts.Check(err)
		b.WriteString(strings.Repeat(args[i], n))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}

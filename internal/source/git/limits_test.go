package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// H10, G4: a commit beyond a limit is refused as a whole. The error names the limit, what was found
// and the heaviest folder; the last commit stays, and the refused one is listed once. The limits
// stand for those of a real repository, which are 100,000 files and a million entries.
func TestCommitBeyondLimitsIsRefused(t *testing.T) {
	r := sourcetest.NewRepo(t)
	start := r.Commit(map[string]string{"addons/tenants/blue/a.yaml": "blue: 1\n", "addons/tenants/red/defaults/e.yaml": "e: 1\n", "fleet/m.yaml": "m: 1\n"})
	g := openGit(t, Options{Location: r.URL(), Limits: source.Limits{Files: 30, Bytes: 5000}})
	sourcetest.Snapshot(t, g)
	lists := filepath.Join(t.TempDir(), "lists")
	g.program = filepath.Join(t.TempDir(), "git")
	sourcetest.Check(t, os.WriteFile(g.program, []byte("#!/bin/sh\ncase \"$*\" in *ls-tree*) echo >>"+lists+";; esac\nexec git \"$@\"\n"), 0o755))
	const red = "addons/tenants/red/"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"files":   {numbered(40, "clusters/%[1]d/%[1]d.yaml", "x: 1\n"), `files: 43, at most 30; "addons/tenants/red/clusters" has the most files, 40`},
		"bytes":   {numbered(9, "clusters/%[1]d.yaml", strings.Repeat("%[1]d", 900)), `bytes of all files: 8118, at most 5000; "addons/tenants/red/clusters" has the most bytes, 8100`},
		"one":     {map[string]string{"a.yaml": strings.Repeat("x", 6000)}, `bytes of all files: 6018, at most 5000; "addons/tenants/red/a.yaml" has the most bytes, 6000`},
		"links":   {links(10), `files: more than 30, which is the limit; "addons/tenants/red/clusters`},
		"broken":  {numbered(40, "clusters/%[1]d.yaml", "-> nowhere/%[1]d"), `symbolic links: 40, at most 30; "addons/tenants/red/clusters" has the most links, 40`},
		"hidden":  {numbered(40, "..hidden/%[1]d", "-> nowhere/%[1]d"), `symbolic links: 40, at most 30; "addons/tenants/red/..hidden" has the most links, 40`},
		"targets": {numbered(20, "..hidden/%[1]d", "-> "+strings.Repeat("x", 250)+"/%[1]d"), `bytes of the targets of symbolic links: 5050, at most 5000; "addons/tenants/red/..hidden" has the most links, 20`},
		"bomb":    {nil, `entries: more than 300, which is the limit; "addons/tenants/red/clusters/0.yaml`},
	} {
		t.Run(name, func(t *testing.T) {
			r.Git("reset", "--hard", "--quiet", start)
			if c.files == nil {
				r.Git("update-ref", "HEAD", r.Git("commit-tree", "-p", "HEAD", "-m", "bomb", withFolder(r, "HEAD:", red+"clusters", bomb(r, 11))))
			} else {
				files := map[string]string{}
				for p, content := range c.files {
					files[red+p] = content
				}
				r.Commit(files)
			}
			_ = os.Remove(lists)
			for range 2 {
				s, err := g.Snapshot(sourcetest.Context(t))
				if want := fmt.Sprintf("git %q: %s", r.URL(), c.want); !errors.Is(err, source.LimitExceeded) || !strings.HasPrefix(err.Error(), want) ||
					!strings.HasSuffix(err.Error(), ": keep them out of the repository, or in one of its own") {
					t.Errorf("%v; want %s", err, want)
				}
				if s == nil || s.Revision != start {
					t.Errorf("%v is served; want %s", s, start)
				}
			}
			if len(g.targets) > 0 {
				t.Errorf("%d targets of links stay in memory", len(g.targets))
			}
			if data, err := os.ReadFile(lists); err != nil || len(data) != 1 {
				t.Errorf("listed %d times, %v", len(data), err)
			}
		})
	}
}

// H10: a few objects of Git are millions of folders, each deep in others, or files whose names
// alone fill the memory.
func TestDeepFoldersTakeLittleMemory(t *testing.T) {
	r := sourcetest.NewRepo(t)
	start := r.Commit(map[string]string{"addons/tenants/blue/a.yaml": "blue: 1\n", "addons/tenants/red/b.yaml": "red: 1\n"})
	g := openGit(t, Options{Location: r.URL(), Limits: source.Limits{Files: 10_000}})
	sourcetest.Snapshot(t, g)
	for name, c := range map[string]struct {
		part        string // of a folder's path
		deep, files int
	}{
		"many folders": {"d", 400, 4000},
		"long names":   {strings.Repeat("d", 200), 100, 10_000},
		"long paths":   {strings.Repeat("d", 200), 400, 1},
		"endless":      {"d", 600, 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			// One commit has the chain of folders, and another one has it many times.
			chain := strings.Repeat(c.part+"/", c.deep)
			r.GitInput(commitTo("refs/heads/chain", start)+"M 100644 inline "+chain+"a.yaml\ndata 5\nx: 1\n\n", "fast-import", "--quiet", "--force")
			id := r.Git("rev-parse", "chain:"+c.part)
			var stream strings.Builder
			stream.WriteString(commitTo("refs/heads/main", start))
			for i := range c.files {
				fmt.Fprintf(&stream, "M 040000 %s addons/tenants/red/clusters/%d\n", id, i)
			}
			r.GitInput(stream.String(), "fast-import", "--quiet", "--force")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, err := g.Snapshot(sourcetest.Context(t))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, source.LimitExceeded) || s == nil || s.Revision != start {
				t.Errorf("%v, %v", s, err)
			}
			made := (after.TotalAlloc - before.TotalAlloc) >> 20
			if t.Logf("%d MiB: %v", made, err); made > 60 {
				t.Error("that is much")
			}
		})
	}
}

// commitTo begins a commit in a stream of git fast-import.
func commitTo(ref, parent string) string {
	return fmt.Sprintf("commit %s\ncommitter c <c@example.com> 0 +0000\ndata 0\nfrom %s\n", ref, parent)
}

// numbered are files whose paths and contents have a number.
func numbered(n int, path, content string) map[string]string {
	out := map[string]string{}
	for i := range n {
		text := content
		if strings.Contains(content, "%") {
			text = fmt.Sprintf(content, i)
		}
		out[fmt.Sprintf(path, i)] = text
	}
	return out
}

// links are folders that lead to the one before twice.
func links(n int) map[string]string {
	out := map[string]string{"clusters/0/a.yaml": "a: 1\n"}
	for i := 1; i < n; i++ {
		out[fmt.Sprintf("clusters/%d/l", i)], out[fmt.Sprintf("clusters/%d/m", i)] = fmt.Sprintf("-> ../%d", i-1), fmt.Sprintf("-> ../%d", i-1)
	}
	return out
}

// bomb is a folder with ten of the folder with ten of the folder ... with ten files.
func bomb(r *sourcetest.Repo, depth int) (id string) {
	id = r.GitInput("x: 1\n", "hash-object", "-w", "--stdin")
	for i := range depth + 1 {
		kind := "040000 tree"
		if i == 0 {
			kind = "100644 blob"
		}
		var folder strings.Builder
		for j := range 10 {
			fmt.Fprintf(&folder, "%s %s\t%d.yaml\n", kind, id, j)
		}
		id = r.GitInput(folder.String(), "mktree")
	}
	return id
}

// withFolder is a folder in which another one is at a path.
func withFolder(r *sourcetest.Repo, in, at, id string) string {
	name, rest, deeper := strings.Cut(at, "/")
	if deeper {
		id = withFolder(r, in+name+"/", rest, id)
	}
	folder := fmt.Sprintf("040000 tree %s\t%s\n", id, name)
	for line := range strings.Lines(r.Git("ls-tree", strings.TrimSuffix(in, "/")) + "\n") {
		if !strings.HasSuffix(line, "\t"+name+"\n") {
			folder += line
		}
	}
	return r.GitInput(folder, "mktree")
}

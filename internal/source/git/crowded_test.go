package git

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// H10: what a folder has too much of is a problem of those who read it, and of nobody else. The
// limits stand for those of a real repository, which are 100,000 files and a million entries.
func TestHeavyFolderIsLeftOutAlone(t *testing.T) {
	r := sourcetest.NewRepo(t)
	innocent := map[string]string{
		"addons/tenants/blue/a.yaml": "blue: 1\n", "addons/tenants/blue/b/c.yaml": "blue: 2\n",
		"addons/defaults/d.yaml": "d: 1\n", "fleet/m.yaml": "m: 1\n", "addons/tenants/red/defaults/e.yaml": "e: 1\n",
	}
	start := r.Commit(innocent)
	g := openGit(t, Options{Location: r.URL(), Limits: source.Limits{Files: 30, Bytes: 5000}})
	sourcetest.Snapshot(t, g)
	for _, attack := range []struct {
		name, at, what string
		files          map[string]string
	}{
		{"files", "clusters", "folder with 40 files", numbered(40, "clusters/%[1]d/%[1]d.yaml", "x: 1\n")},
		{"bytes", "clusters", "folder with 8100 bytes of files", numbered(9, "clusters/%[1]d.yaml", strings.Repeat("%[1]d", 900))},
		{"links", "clusters/9/l", "folder with ", links(10)},
		{"bomb", "clusters/0.yaml", "folder with 111111111110 entries", nil},
	} {
		t.Run(attack.name, func(t *testing.T) {
			r.Git("reset", "--hard", "--quiet", start)
			red := map[string]string{}
			for p, content := range attack.files {
				red["addons/tenants/red/"+p] = content
			}
			r.Commit(red)
			if attack.files == nil {
				r.Git("update-ref", "HEAD", r.Git("commit-tree", "-p", "HEAD", "-m", "bomb", withFolder(r, "HEAD:", "addons/tenants/red/clusters", bomb(r, 11))))
			}
			s := sourcetest.Snapshot(t, g)
			for p, content := range innocent {
				if f := s.File(p); f == nil || string(f.Data) != content {
					t.Errorf("%s is %+v", p, f)
				}
			}
			at := "addons/tenants/red/" + attack.at
			for _, p := range []string{at + "/1.yaml", at + "/not/there.yaml"} {
				if f := s.File(p); f == nil || !strings.HasPrefix(sourcetest.ErrorText(f.Err), at+": "+attack.what) {
					t.Errorf("%s is %+v, want %s", p, f, attack.what)
				}
			}
			if attack.files != nil {
				return
			}
			another := openGit(t, Options{Location: r.URL(), Limits: source.Limits{Files: 30, Bytes: 5000}})
			if again := sourcetest.Snapshot(t, another); !maps.Equal(digests(again), digests(s)) {
				t.Error("a service that starts now has another snapshot (G6)")
			}
		})
	}
}

// H10: a few objects of Git are millions of folders, each deep in others, or files whose names
// alone fill the memory.
func TestDeepFoldersTakeLittleMemory(t *testing.T) {
	r := sourcetest.NewRepo(t)
	start := r.Commit(map[string]string{"addons/tenants/blue/a.yaml": "blue: 1\n", "addons/tenants/red/b.yaml": "red: 1\n"})
	g := openGit(t, Options{Location: r.URL(), Limits: source.Limits{}})
	sourcetest.Snapshot(t, g)
	for name, c := range map[string]struct {
		part        string // of a folder's path
		deep, files int
	}{
		"many folders": {"d", 400, 4000},
		"long names":   {strings.Repeat("d", 200), 100, 10_000},
		"endless":      {"d", 600, 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			id := r.GitInput("x: 1\n", "hash-object", "-w", "--stdin")
			id = r.GitInput(fmt.Sprintf("100644 blob %s\ta.yaml\n", id), "mktree")
			for range c.deep {
				id = r.GitInput(fmt.Sprintf("040000 tree %s\t%s\n", id, c.part), "mktree")
			}
			var folder strings.Builder
			for i := range c.files {
				fmt.Fprintf(&folder, "040000 tree %s\t%d\n", id, i)
			}
			id = withFolder(r, start+":", "addons/tenants/red/clusters", r.GitInput(folder.String(), "mktree"))
			r.Git("update-ref", "HEAD", r.Git("commit-tree", "-p", start, "-m", name, id))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s := sourcetest.Snapshot(t, g)
			runtime.ReadMemStats(&after)
			if f := s.File("addons/tenants/blue/a.yaml"); f == nil || string(f.Data) != "blue: 1\n" {
				t.Errorf("%+v", f)
			}
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 400 {
				t.Errorf("%d MiB", made)
			} else {
				t.Logf("%d MiB", made)
			}
		})
	}
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

func digests(s *snapshot.Snapshot) map[string]string {
	out := map[string]string{}
	for _, f := range s.FilesUnder("") {
		out[f.Path] = f.Digest
	}
	return out
}

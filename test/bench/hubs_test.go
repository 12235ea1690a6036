//go:build bench

package bench

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var (
	simulate     = flag.Int("simulate", 80, "clusters of the fleet that is divided among hubs")
	simulateHubs = flag.String("hubs", "4,8", "among how many hubs, separated by commas")
)

// compareUpTo is up to how many clusters the state of the whole fleet is computed as well.
const compareUpTo = 2000

// TestHubs divides a fleet in one repository among hubs, and prints what one of them takes that
// reads its own part alone: its members' files and the levels that all share. The hubs are alike
// and independent, so the first one stands for all. On small fleets the answers of each hub are
// compared with those from the whole repository. Last it prints what a Git server sends.
func TestHubs(t *testing.T) {
	for text := range strings.SplitSeq(*simulateHubs, ",") {
		hubs, err := strconv.Atoi(text)
		require.NoError(t, err)
		f := &fleet{TB: t, o: fleettest.Options{Clusters: *simulate, Hubs: hubs, Components: components, Tenants: max(2, *simulate/200), Overrides: 3, Seed: 1}}
		f.files = fleettest.Files(f.o)
		if *simulate <= compareUpTo {
			f.partsAnswerAlike(hubs)
		}
		whole := len(f.files)
		f.overGit(hubs)
		f.files = f.part(hubs, 0)
		runtime.GC()
		fmt.Printf("%d clusters in %d hubs, %d files; a hub reads %d:\n", *simulate, hubs, whole, len(f.files))
		f.oneHub()
	}
}

// part are the files that a hub can use.
func (f *fleet) part(hubs, hub int) map[string]string {
	own := map[string]bool{}
	for i := range f.o.Clusters {
		own[fleettest.Cluster(i)] = i*hubs/f.o.Clusters == hub
	}
	members := fmt.Sprintf("fleet/fleet-members/hub-%d/", hub+1)
	out := map[string]string{}
	for p, text := range f.files {
		_, ofCluster, isCluster := strings.Cut(p, "/clusters/")
		cluster, _, _ := strings.Cut(ofCluster, "/")
		if isCluster && !own[cluster] || strings.HasPrefix(p, "fleet/fleet-members/") && !strings.HasPrefix(p, members) {
			continue
		}
		out[p] = text
	}
	return out
}

// partsAnswerAlike checks that no hub's answers depend on what its part leaves out.
func (f *fleet) partsAnswerAlike(hubs int) {
	f.Helper()
	answer := func(files map[string]string, hub int) (out [][]byte) {
		st := f.build(nil, snapshot.FromMap(files))
		for c := range components {
			q := oneComponent(c)
			q.Hub = fmt.Sprintf("hub-%d", hub+1)
			text, err := response.Bytes(st, q)
			require.NoError(f, err)
			out = append(out, bytes.ReplaceAll(text, []byte(st.Revision), []byte("revision")))
		}
		return out
	}
	for hub := range hubs {
		if !slices.EqualFunc(answer(f.files, hub), answer(f.part(hubs, hub), hub), bytes.Equal) {
			f.Fatalf("hub %d of %d answers otherwise from its part", hub+1, hubs)
		}
	}
}

// oneHub prints what a replica of the first hub takes.
func (f *fleet) oneHub() {
	f.Helper()
	var size int
	var record bytes.Buffer // as the store packs one
	packed := gzip.NewWriter(&record)
	for _, text := range f.files {
		size += len(text)
		if _, err := io.WriteString(packed, text); err != nil {
			f.Fatal(err)
		}
	}
	require.NoError(f, packed.Close())
	s := snapshot.FromMap(f.files)
	before := heap()
	var st *fleetstate.State
	cold := timed(func() { st = f.build(nil, s) })
	state := heap() - before
	sent, largest := 0, 0
	answers := timed(func() {
		for c := range components {
			n := f.ready(st, oneComponent(c)).Len()
			sent, largest = sent+n, max(largest, n)
		}
	})
	answered := heap() - before
	var commits [3]float64
	next := s
	for i := range commits {
		next = f.commit(next, always, f.clusterFile(0))
		commits[i] = timed(func() {
			st = f.build(st, next)
			f.ready(st, oneComponent(0))
		})
		f.changed(st, oneComponent(0), next.Revision)
	}
	fmt.Printf("  files %.0f MB (%.1f MB compressed), cold start %s, all answers %s (%.0f MB, the largest %.1f MB), the first commit %s, the third %s, heap beyond the files %.0f MB, with all answers %.0f MB\n",
		float64(size)/1e6, float64(record.Len())/1e6, seconds(cold), seconds(answers), float64(sent)/1e6, float64(largest)/1e6, seconds(commits[0]), seconds(commits[2]), float64(state)/1e6, float64(answered)/1e6)
	runtime.KeepAlive(st)
	runtime.KeepAlive(s)
}

// heap is what is in use when all garbage is gone.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// overGit prints what a Git server sends to one replica: at its start and for a push, of the whole
// repository, as the service reads it, and of a hub's part, from a partial clone.
func (f *fleet) overGit(hubs int) {
	f.Helper()
	f.dir = f.TempDir()
	server := filepath.Join(f.dir, "server.git")
	f.git("init", "--quiet", "--bare", "--initial-branch=main", server)
	f.git("-C", server, "config", "uploadpack.allowFilter", "true")
	f.git("-C", server, "config", "uploadpack.allowAnySHA1InWant", "true")
	f.importTo(server, f.files, "")

	counter, count := filepath.Join(f.dir, "upload-pack"), filepath.Join(f.dir, "count")
	script := fmt.Sprintf("#!/bin/sh\ngit-upload-pack \"$@\" | tee -a '%s'\n", count)
	require.NoError(f, os.WriteFile(counter, []byte(script), 0o700))
	sent := func(stdin io.Reader, args ...string) float64 {
		f.Helper()
		require.NoError(f, os.WriteFile(count, nil, 0o600))
		cmd := exec.Command("git", append(args, "--quiet", "--no-tags", "--upload-pack="+counter, "--", "file://"+server)...)
		cmd.Stdin = stdin
		if stdin != nil {
			cmd.Args = slices.Insert(cmd.Args, len(cmd.Args)-2, "--stdin")
		} else {
			cmd.Args = append(cmd.Args, "+refs/heads/main:refs/heads/main")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			f.Fatalf("git %v: %v\n%s", args, err, out)
		}
		info, err := os.Stat(count)
		require.NoError(f, err)
		return float64(info.Size())
	}
	mirror := func(name string) string {
		dir := filepath.Join(f.dir, name)
		f.git("init", "--quiet", "--bare", dir)
		return dir
	}
	all, trees := mirror("all"), mirror("trees")
	whole := func() float64 { return sent(nil, "-C", all, "fetch", "--depth=1", "--filter=blob:limit=1048577") }
	partial := func() float64 { return sent(nil, "-C", trees, "fetch", "--depth=1", "--filter=blob:none") }
	var start float64
	took := timed(func() { start = whole() })
	listed := partial()
	blobs := sent(strings.NewReader(f.ids(server, f.part(hubs, 0))), "-C", trees, "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--filter=blob:none", "--no-write-fetch-head")
	fmt.Printf("%d clusters in %d hubs, what the Git server sends a replica:\n  at its start the whole repository: %.1f MB, %s of this side's processor; its part: trees %.1f MB and files %.1f MB\n",
		f.o.Clusters, hubs, start/1e6, seconds(took), listed/1e6, blobs/1e6)
	for _, push := range []struct{ what, path string }{
		{"one cluster's value", f.clusterFile(0)},
		{"one member file", "fleet/fleet-members/hub-1/" + fleettest.Cluster(0) + ".yaml"},
	} {
		f.importTo(server, map[string]string{push.path: f.files[push.path] + "# pushed\n"}, "main")
		fmt.Printf("  a push of %s: whole repository %.1f KB, trees of a partial clone %.1f KB\n", push.what, whole()/1e3, partial()/1e3)
	}
}

// importTo commits files to a bare repository, on top of a branch if there is one.
func (f *fleet) importTo(server string, files map[string]string, parent string) {
	f.Helper()
	var in bytes.Buffer
	fmt.Fprint(&in, "commit refs/heads/main\ncommitter bench <bench@example.com> 1700000000 +0000\ndata 0\n")
	if parent != "" {
		fmt.Fprintf(&in, "from refs/heads/%s^0\n", parent)
	}
	for path, text := range files {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
	}
	cmd := exec.Command("git", "-C", server, "fast-import", "--quiet")
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Fatalf("git fast-import: %v\n%s", err, out)
	}
}

// ids are the object ids of some files of a repository, one a line.
func (f *fleet) ids(server string, files map[string]string) string {
	f.Helper()
	out, err := exec.Command("git", "-C", server, "ls-tree", "-r", "main").Output()
	require.NoError(f, err)
	known := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		object, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if _, own := files[path]; own {
			known[strings.Fields(object)[2]] = true
		}
	}
	var ids strings.Builder
	for id := range known {
		ids.WriteString(id + "\n")
	}
	return ids.String()
}

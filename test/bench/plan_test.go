//go:build bench

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// plans measures what a plan of one changed file takes, which follows the pipeline of two revisions
// to its end: its time, against that of rendering all of one; and the most memory, against that of
// asking for one component, which is to read one revision and to compute its state.
func (b *bench) plans(f *fleet, program string) {
	b.Helper()
	f.addPipeline()
	f.git("init", "--quiet")
	f.git("add", ".")
	f.git("-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "--quiet", "--message=fleet")
	// Of a cluster on release default, as all but 2 % are.
	changed := filepath.Join(f.dir, filepath.FromSlash(f.clusterFile(1)))
	text, err := os.ReadFile(changed)
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(changed, append(text, "planned: true\n"...), 0o600))
	plan := []string{"plan", "--repo", f.dir, "--base", "HEAD"}
	if b.clusters <= 1000 {
		row := figure{what: "argosy plan, one file", fleet: f.name, against: "argosy render", goal: atMost(10, "%")}
		for range b.rounds() {
			render := b.command(program, "render", "--repo", f.dir, "--out", filepath.Join(b.TempDir(), "rendered"))
			took := b.command(program, plan...)
			row.rounds = append(row.rounds, 100*took/render)
			row.detail = fmt.Sprintf("%s, render %s", seconds(took), seconds(render))
		}
		b.add(row)
	}
	took := figure{what: "argosy plan, one file, in all", fleet: f.name, goal: atMost(5, " s")}
	for range b.rounds() {
		took.rounds = append(took.rounds, b.command(program, plan...))
	}
	b.add(took)
	if runtime.GOOS != "linux" {
		return
	}
	most := figure{what: "peak memory of argosy plan, one file, in all", fleet: f.name, goal: atMost(1.5, " GB")}
	row := figure{what: "peak memory of argosy plan, one file", fleet: f.name, against: "argosy params of a component", goal: atMost(3, "x")}
	for range min(b.rounds(), 3) {
		params := b.peak(program, "params", "--repo", f.dir, "--view", string(query.Components), "--group", fleettest.Group, "--component", fleettest.Component(0))
		planned := b.peak(program, plan...)
		row.rounds = append(row.rounds, planned/params)
		most.rounds = append(most.rounds, planned/1e9)
		row.detail = fmt.Sprintf("%.0f MB, params %.0f MB", planned/1e6, params/1e6)
	}
	b.add(row)
	b.add(most)
}

// peakOf is the environment variable that makes TestMain run a command.
const peakOf = "ARGOSY_BENCH_PEAK"

// TestMain is the process that peak starts a command from, or that of respondAll, or runs the
// tests. What Linux counts of a command has in it what the process that starts it has in memory
// before the exec; this is small.
func TestMain(m *testing.M) {
	args := strings.Split(os.Getenv(peakOf), "\n")
	switch {
	case os.Getenv(respond) != "":
		respondAll()
		return
	case args[0] == "":
		os.Exit(m.Run())
	}
	cmd := exec.Command(args[0], args[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		fmt.Printf("%v: %v\n%.2000s", args, err, out)
		os.Exit(1)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		fmt.Println("no resource usage")
		os.Exit(1)
	}
	fmt.Printf("PEAK %d\n", usage.Maxrss)
}

// peak is the most memory that a program has resident, in bytes.
func (b *bench) peak(program string, args ...string) float64 {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), peakOf+"="+strings.Join(append([]string{program}, args...), "\n"))
	out, err := cmd.CombinedOutput()
	_, text, found := strings.Cut(string(out), "PEAK ")
	if err != nil || !found {
		b.Fatalf("%v\n%s", err, out)
	}
	var kib int64 // getrusage(2)
	if _, err := fmt.Sscan(text, &kib); err != nil {
		b.Fatal(err)
	}
	return float64(kib) * 1024
}

// addPipeline adds what makes Applications of the fleet's answers: this repository's roots and
// charts, with the fleet's catalog.
func (f *fleet) addPipeline() {
	f.Helper()
	const own, catalog = "hub-eu", "charts/application-sets/catalogs/addons.yaml"
	add := map[string]string{
		catalog: strings.ReplaceAll(f.files["addons/defaults/application-sets/addons.yaml"], "    enabled: true\n", "    enabled: false\n    namespace: system\n"),
		"versions/applicationSets.yaml": `releases:
  globals: {use_helm_repo_path: "true", chartRepoUrl: https://github.com/argosy-hub/argosy, chartRepoPath: charts/application-sets, chartRepoRevision: main}
  addons: [{type: default}, {type: canary}]
`,
	}
	for _, root := range []string{"charts/application-sets", "charts/fleet-secret", "fleet/bootstrap/" + own + ".yaml", "fleet/bootstrap/" + own + "/addons.yaml", "fleet/bootstrap/" + own + "/members.yaml"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel("../..", p)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			data, err := os.ReadFile(p)
			switch {
			case err != nil || add[rel] != "":
			case strings.HasPrefix(rel, "charts/"):
				add[rel] = string(data)
			default:
				add[strings.ReplaceAll(rel, own, fleettest.Hub)] = strings.ReplaceAll(string(data), own, fleettest.Hub)
			}
			return err
		})
		require.NoError(f, err)
	}
	require.NoError(f, fleettest.Write(f.dir, add))
}

func (f *fleet) git(args ...string) {
	f.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

//go:build bench

package bench

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

const (
	// teamCount is how many teams a fleet with teams has, each on all members of its tenant.
	teamCount = 100
	// mountCount is how many of their repositories the layout mounts.
	mountCount = 10
	// mountFiles is how many values files each mount has.
	mountFiles = 50
)

// teamChart is where the charts of a generated fleet are.
const teamChart = "chart: {repoURL: https://git.example.com/platform/charts, path: web, version: main}"

// TestTeamFigures measures what teams and mounts cost, and nothing else.
func TestTeamFigures(t *testing.T) {
	b := &bench{T: t, oneCommit: map[int]float64{}, oneState: map[int]float64{}}
	if _, err := fmt.Sscan(*sizes, &b.clusters); err != nil {
		t.Fatal(err)
	}
	b.teams()
	b.mounts()
	fmt.Println(machine())
	table(os.Stdout, b.figures)
}

// withTeams is a fleet with teams, and with layout lines of its own; without teams the layout is
// the same.
func (b *bench) withTeams(teams int, more string) *fleet {
	b.Helper()
	f := newFleet(b, sparse, b.clusters)
	f.name = fmt.Sprintf("%s, %d teams", f.name, teams)
	added := map[string]string{
		"fleet/layout.yaml":             "groups:\n  addons: {}\n  teams: {root: addons, catalog: catalogs/teams.yaml}\n  workloads: {root: workloads, catalog: catalogs/workloads.yaml}\n" + more,
		"catalogs/teams.yaml":           "components:\n  team: {" + teamChart + "}\n  team-project: {" + teamChart + "}\n",
		"catalogs/workloads.yaml":       "components: {}\n",
		"versions/applicationSets.yaml": f.files["versions/applicationSets.yaml"] + "  teams: [{type: default, chartRepoRevision: v1}]\n  workloads: [{type: default, chartRepoRevision: v1}]\n",
	}
	catalog := "components:\n"
	for i := range teams {
		added[teamFile(i)] = fmt.Sprintf("name: team-%03[1]d\ntenant: %[2]s\nowners: [o-%[1]d]\nviewers: [v-%[1]d]\nclusters: {}\n"+
			"namespaces: [{name: ns-%03[1]d, preset: small}, {prefix: ns-%03[1]d-}]\nrepositories: ['https://git.example.com/team-%03[1]d/*']\n", i, f.o.Tenant(i))
		catalog += fmt.Sprintf("  app-%03[1]d: {enabled: true, team: team-%03[1]d, namespace: ns-%03[1]d, chart: {repoURL: 'https://git.example.com/team-%03[1]d/app', path: chart, version: main}}\n", i)
	}
	if more != "" {
		added["catalogs/workloads.yaml"] = catalog
	}
	maps.Copy(f.files, added)
	require.NoError(b, fleettest.Write(f.dir, added))
	return f
}

func teamFile(i int) string { return fmt.Sprintf("fleet/teams/team-%03d.yaml", i) }

// teams measures a commit of one cluster's file, and of one team's, in a fleet with teams.
func (b *bench) teams() {
	b.Helper()
	plain, with := b.withTeams(0, ""), b.withTeams(teamCount, "")
	type side struct {
		f  *fleet
		s  *snapshot.Snapshot
		st *fleetstate.State
	}
	sides := []*side{{f: plain}, {f: with}}
	for _, x := range sides {
		x.s = x.f.read()
		x.st = x.f.build(nil, x.s)
		x.f.ready(x.st, oneComponent(0))
	}
	if n := len(with.sets(with.answer(sides[1].st, query.Query{View: query.Components, Hub: fleettest.Hub, Group: "teams"}))); n < teamCount*b.clusters/max(2, b.clusters/200)/2 {
		b.Fatalf("%d sets of teams: they are not resolved", n)
	}
	row := figure{what: "a commit of one cluster's file", fleet: with.name, against: "the same without teams", goal: atMost(20, " % more")}
	var took [2][]float64
	for i := range 8 * b.rounds() {
		for k, x := range sides {
			next := x.f.commit(x.s, always, x.f.clusterFile(i%x.f.o.Clusters))
			x.f.ready(x.st, oneComponent(i%components))
			took[k] = append(took[k], timed(func() {
				x.st = x.f.build(x.st, next)
				x.f.ready(x.st, oneComponent(i%components))
			}))
			x.s = next
		}
	}
	// One commit takes about a millisecond: a round is the median of eight.
	for i := 0; i < len(took[0]); i += 8 {
		row.rounds = append(row.rounds, 100*(median(took[1][i:i+8])/median(took[0][i:i+8])-1))
	}
	row.detail = seconds(median(took[0])) + " without, " + seconds(median(took[1])) + " with"
	b.add(row)

	one := figure{what: "a commit of one team's file", fleet: with.name, against: "the cold resolve", goal: atMost(20, " %")}
	cold := timed(func() { with.build(nil, sides[1].s) })
	var teams []float64
	x := sides[1]
	for i := range 4 * b.rounds() {
		path := teamFile(i % teamCount)
		next := x.s.With(map[string]*snapshot.File{path: snapshot.NewFile(path, []byte(strings.Replace(with.files[path], "preset: small", "preset: isolated", 1)), snapshot.MaxFileSize)})
		teams = append(teams, timed(func() { x.st = with.build(x.st, next) }))
		one.rounds = append(one.rounds, 100*teams[i]/cold)
		x.s = next
	}
	one.detail = seconds(median(teams)) + " of " + seconds(cold)
	b.add(one)
}

// mounts measures what a commit of one of ten mounts costs: its fetch, and its files.
func (b *bench) mounts() {
	b.Helper()
	lines := "mounts:\n"
	for i := range mountCount {
		lines += fmt.Sprintf("  apps/m%[1]d: {url: 'https://git.example.com/team-%03[1]d/app', team: team-%03[1]d}\n", i)
	}
	f := b.withTeams(teamCount, lines)
	var fetches atomic.Int64
	var mu sync.Mutex
	byMount := map[int]int{}
	repos, sources := make([]*sourcetest.Repo, mountCount), make([]*git.Repository, mountCount)
	parts := make([]snapshot.Part, mountCount)
	main := f.read()
	table, err := fleetstate.MountsOf(nil, main)
	require.NoError(b, err)
	// Mounts are in the order of their paths.
	read := func(i int) {
		src, err := sources[i].Snapshot(sourcetest.Context(b))
		require.NoError(b, err)
		part, problems := table.Find(fmt.Sprintf("apps/m%d", i)).Read(src, parts[i])
		if len(problems) > 0 {
			b.Fatal(problems[0])
		}
		parts[i] = part
	}
	for i := range mountCount {
		repos[i] = sourcetest.NewRepo(b)
		files := map[string]string{"defaults/application-sets/workloads.yaml": fmt.Sprintf("app-%03d: {enabled: true}\n", i)}
		for n := range mountFiles {
			cluster := i + n*max(2, b.clusters/200)
			if cluster < b.clusters {
				files[fmt.Sprintf("tenants/%s/clusters/%s/workloads/app-%03d/values.yaml", f.o.Tenant(i), fleettest.Cluster(cluster), i)] = fmt.Sprintf("n: %d\n", n)
			}
		}
		repos[i].Commit(files)
		server := repos[i].Server("", "", func(r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte("command=fetch")) || bytes.Contains(body, []byte("want ")) || r.Header.Get("Content-Encoding") == "gzip" {
				fetches.Add(1)
				mu.Lock()
				byMount[i]++
				mu.Unlock()
			}
		})
		src, err := git.New(git.Options{Location: server.URL + "/.git", StateDir: b.TempDir()})
		require.NoError(b, err)
		sources[i] = src
		read(i)
	}
	b.add(figure{what: "fetches of ten mounts, from nothing", fleet: f.name, goal: atMost(mountCount, ""), rounds: []float64{float64(fetches.Load())}})
	joined := main.Join(parts)
	st := f.build(nil, joined)

	fetched := figure{what: "fetches, a commit of one of ten mounts", fleet: f.name, goal: atMost(1, "")}
	copied := figure{what: "files made anew, a commit of one file of a mount", fleet: f.name, goal: atMost(1, "")}
	commit := figure{what: "a commit of one file of a mount", fleet: f.name, against: "the cold resolve", goal: atMost(1, "%")}
	cold := timed(func() { f.build(nil, joined) })
	var took []float64
	for round := range 2 * b.rounds() {
		i := round % mountCount
		repos[i].Commit(map[string]string{fmt.Sprintf("tenants/%s/clusters/%s/workloads/app-%03d/values.yaml", f.o.Tenant(i), fleettest.Cluster(i), i): fmt.Sprintf("round: %d\n", round)})
		fetches.Store(0)
		for k := range mountCount {
			read(k)
		}
		fetched.rounds = append(fetched.rounds, float64(fetches.Load()))
		next := main.Join(parts)
		made, old := 0, joined.FilesUnder("")
		for at, file := range next.FilesUnder("") {
			if old[at] != file {
				made++
			}
		}
		copied.rounds = append(copied.rounds, float64(made))
		took = append(took, timed(func() { st = f.build(st, next) }))
		commit.rounds = append(commit.rounds, 100*took[round]/cold)
		joined = next
	}
	copied.detail = fmt.Sprintf("of %d files", joined.Len())
	commit.detail = fmt.Sprintf("%s of %s", seconds(median(took)), seconds(cold))
	b.figures = slices.Concat(b.figures, []figure{fetched, copied, commit})
}

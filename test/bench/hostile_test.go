//go:build bench

package bench

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/test/accidents"
)

// The memory that programs have to live with on hostile repositories: a pod's and a CI job's. The
// service has it as GOMEMLIMIT, and its resident memory is compared. Commands have it as
// RLIMIT_DATA.
const (
	serviceMiB = 512
	commandMiB = 1024
)

// hostile is what one tenant commits, one step after another.
type hostile struct {
	name  string
	files fleettest.Tree
	links map[string]string
}

// hostileCommits are attacks on memory: by Git, by templates, by links, by numbers and by archives.
func (b *bench) hostileCommits() []hostile {
	const own = "addons/tenants/tenant-0/defaults/"
	catalog, bombs, broken := "components:\n", fleettest.Tree{}, fleettest.Tree{}
	for i := range 14 {
		catalog += fmt.Sprintf("  bomb-%d: {enabled: true, chart: {repoURL: https://charts.example, name: bomb, version: 1.0.0}}\n", i)
		bombs[fmt.Sprintf("%saddons/bomb-%d/values.yaml.gotmpl", own, i)] = "a: {{ repeat 900000 \"x\" }}{{ .cluster }}\n"
	}
	bombs[own+"application-sets/addons.yaml"] = catalog
	for i := range 50 {
		broken[fmt.Sprintf("%saddons/broken-%d/values.yaml", own, i)] = "a: [\xff\n"
	}
	links := map[string]string{own + "everything": "../../../.."}
	for i := range 32 {
		links[fmt.Sprintf("%slink-%d", own, i)] = "../../../defaults"
	}
	large := strings.Repeat("# a line of a file that is large and alike\n", 64<<20/43)
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	t := tar.NewWriter(z)
	const unpacked = 400 << 20
	require.NoError(b, t.WriteHeader(&tar.Header{Name: "bomb/values.yaml", Mode: 0o600, Size: unpacked}))
	for range unpacked >> 20 {
		if _, err := t.Write(make([]byte, 1<<20)); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, z.Close())
	return []hostile{
		{"two large files that are alike", fleettest.Tree{own + "addons/component-000/values.yaml": large + "x: 1\n", own + "addons/component-001/values.yaml": large + "x: 2\n"}, nil},
		{"templates that multiply", bombs, nil},
		{"50 files that cannot be read", broken, nil},
		{"33 links to folders", nil, links},
		{"values that are large when they are read", short(own, strings.Repeat("- a\n", 250_000)), nil},
		{"values that are large when they are written", short(own, "a: "+strings.Repeat("[", 90)+strings.Repeat("a,", 100_000)+strings.Repeat("]", 90)+"\n"), nil},
		{"templates of much work", short(own, "{{ range until 400 }}{{ range until 400 }}{{ end }}{{ end }}a: {{ repeat 900000 .cluster | sha256sum }}\n"), nil},
		{"catalogs of many values", fleettest.Tree{
			own + "application-sets/addons.yaml.gotmpl": "components:\n  {{ .cluster }}: {values: {a: [" + strings.Repeat("a,", 100_000) + "{{ .cluster }}]}}\n",
		}, nil},
		{"an archive, and a template of a chart", fleettest.Tree{
			"charts/hostile/Chart.yaml":            "apiVersion: v2\nname: hostile\nversion: 1.0.0\n",
			"charts/hostile/charts/bomb.tgz":       archive.String(),
			"charts/hostile/templates/memory.yaml": "{{ range until 1000000 }}{{ range until 1000000 }}a: {{ repeat 1000000 \"x\" }}\n{{ end }}{{ end }}",
			own + "application-sets/addons.yaml":   "component-000: {chart: {repoURL: https://github.com/argosy-hub/argosy, name: null, version: main, path: charts/hostile}}\n",
		}, nil},
	}
}

// short are files of few bytes, for many components of tenant-0.
func short(own, values string) fleettest.Tree {
	catalog, out := "components:\n", fleettest.Tree{}
	for i := range 40 {
		suffix := ""
		if strings.HasPrefix(values, "{{") {
			suffix = ".gotmpl"
		}
		catalog += fmt.Sprintf("  short-%d: {enabled: true, chart: {repoURL: https://charts.example, name: short, version: 1.0.0}}\n", i)
		text := values
		if strings.HasPrefix(values, "- ") {
			text = "a:\n" + values
		}
		out[fmt.Sprintf("%saddons/short-%d/values.yaml%s", own, i, suffix)] = text
	}
	out[own+"application-sets/addons.yaml"] = catalog
	return out
}

// hostiles measures the most memory that the programs have resident on a repository that a tenant
// attacks, against that on the same repository before. A program that dies, or a tenant without a
// response, is an error.
func (b *bench) hostiles() {
	b.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	f := newFleet(b.T, sparse, b.clusters)
	f.addPipeline()
	f.git("init", "--quiet", "--initial-branch=main")
	f.commitAll("fleet")
	commands := map[string][]string{
		"lint":          {"lint", "--repo", f.dir},
		"plan --render": {"plan", "--repo", f.dir, "--base", "HEAD~1", "--render"},
	}
	if testing.Short() { // the service alone
		clear(commands)
	}
	f.git("-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "--quiet", "--allow-empty", "--message=nothing")
	calm := map[string]float64{}
	for name, args := range commands {
		calm[name] = b.peakWithin(commandMiB, b.program, args...)
	}
	s := b.startService(f)
	quiet := s.peak()
	rows := map[string]*figure{}
	for name := range commands {
		rows[name] = &figure{what: "peak memory of argosy " + name + " in 1 GiB, hostile", fleet: f.name, against: "the same fleet before", goal: atMost(10, "x")}
	}
	for _, h := range b.hostileCommits() {
		require.NoError(b, fleettest.Write(f.dir, h.files))
		for name, to := range h.links {
			require.NoError(b, os.Symlink(to, filepath.Join(f.dir, name)))
		}
		f.commitAll(h.name)
		s.follow(h.name)
		for name, args := range commands {
			peak := b.peakWithin(commandMiB, b.program, args...)
			row := rows[name]
			if row.rounds = append(row.rounds, peak/calm[name]); row.value() <= peak/calm[name] {
				row.detail = fmt.Sprintf("%.0f MB by %s, before %.0f MB", peak/1e6, h.name, calm[name]/1e6)
			}
		}
	}
	commits := s.peak()
	s.distinctBases()
	for _, row := range rows {
		b.add(*row)
	}
	detail := fmt.Sprintf("%.0f MB, before %.0f MB; without distinct entries %.0f MB", s.peak()/1e6, quiet/1e6, commits/1e6)
	if s.limit != nil && s.limit.killed() > 0 {
		b.Fatalf("the kernel has killed %d processes beyond %d MiB", s.limit.killed(), serviceMiB)
	}
	b.add(figure{what: "peak memory of the service, hostile", fleet: f.name, against: "the same fleet before", goal: atMost(10, "x"), rounds: []float64{s.peak() / quiet}, detail: detail})
	b.add(figure{what: "peak memory of the service, hostile, in its limit", fleet: f.name, against: "512 MiB", goal: atMost(100, "%"), rounds: []float64{100 * s.peak() / (serviceMiB << 20)}, detail: detail})
}

func (f *fleet) commitAll(message string) {
	f.Helper()
	f.git("add", "--all")
	f.git("-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "--quiet", "--message="+message)
}

// peakWithin is the most memory that a program has resident that may have so much data, itself and
// each process that it starts. It may find something wrong (status 1), and nothing else.
func (b *bench) peakWithin(mib int, program string, args ...string) float64 {
	b.Helper()
	script := fmt.Sprintf(`ulimit -d %d; "$0" "$@"; [ $? -le 1 ]`, mib<<10)
	return b.peak("sh", append([]string{"-c", script, program}, args...)...)
}

// limitedService is the service, as a pod runs it.
type limitedService struct {
	b        *bench
	f        *fleet
	url, log string
	pid      int
	sets     int
	// limit is what the kernel enforces, nil without -enforce.
	limit *memoryLimit
}

var servingAt = regexp.MustCompile(`(?m)^generator-plugin: serving .* at (http://[^,]+),`)

func (b *bench) startService(f *fleet) *limitedService {
	b.Helper()
	dir := b.TempDir()
	program, tokenFile := filepath.Join(dir, "generator-plugin"), filepath.Join(dir, "token")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "../../cmd/generator-plugin").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	require.NoError(b, os.WriteFile(tokenFile, []byte(token), 0o600))
	s := &limitedService{b: b, f: f, log: filepath.Join(dir, "log")}
	log, err := os.Create(s.log)
	require.NoError(b, err)
	defer log.Close()
	args := []string{
		"--source", "file://" + f.dir, "--ref", "main", "--interval", "1h",
		"--hub", fleettest.Hub, "--listen", "127.0.0.1:0", "--token-file", tokenFile, "--state-dir", filepath.Join(dir, "state"), "--log-level", "warn",
	}
	line := append([]string{program}, args...)
	if *enforce {
		if s.limit, err = b.limitMemory(serviceMiB); err != nil {
			b.Fatal(err)
		}
		line = s.limit.command(program, args...)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%dMiB", serviceMiB*8/10)) // as the chart sets it
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(b, cmd.Start())
	s.pid = cmd.Process.Pid
	b.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	s.wait("the service to serve", func() bool {
		text, _ := os.ReadFile(s.log)
		if found := servingAt.FindSubmatch(text); found != nil {
			s.url = string(found[1])
		}
		return s.url != ""
	})
	s.sets = s.askOthers()
	if s.sets == 0 {
		b.Fatal("no set of another tenant")
	}
	return s
}

func (s *limitedService) wait(what string, done func() bool) {
	s.b.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(s.log)
			s.b.Fatalf("waited for %s\n%.4000s", what, text)
		}
	}
}

// panicOf is the part of a log that says why a program ended.
func panicOf(log []byte) []byte {
	for _, word := range []string{"fatal error: ", "panic: ", "runtime: "} {
		if i := bytes.Index(log, []byte(word)); i >= 0 {
			return log[i:]
		}
	}
	return log[max(0, len(log)-1500):]
}

func (s *limitedService) request(method, path, body string) (int, []byte) {
	s.b.Helper()
	status, text, err := s.send(method, path, body)
	if err != nil {
		log, _ := os.ReadFile(s.log)
		s.b.Fatalf("%v\n%s\n%.1500s", err, body[:min(len(body), 200)], panicOf(log))
	}
	return status, text
}

func (s *limitedService) send(method, path, body string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// others is a query for a component of all tenants but the hostile one. More are further
// parameters.
func others(more string) string {
	return `{"applicationSetName":"bench","input":{"parameters":{"view":"components","group":"addons","component":"component-002",` + more +
		`"selector":{"matchExpressions":[{"key":"tenant","operator":"NotIn","values":["tenant-0"]}]}}}}`
}

// askOthers asks for a component of all other tenants, and counts the sets.
func (s *limitedService) askOthers() int {
	s.b.Helper()
	status, text := s.request(http.MethodPost, "/api/v1/getparams.execute", others(""))
	if status != http.StatusOK {
		s.b.Fatalf("other tenants have no response: %d %.500s", status, text)
	}
	return bytes.Count(text, []byte(`"applicationName":`))
}

// follow has the service consider a commit. Other tenants have their responses all along.
func (s *limitedService) follow(what string) {
	s.b.Helper()
	head, err := exec.Command("git", "-C", s.f.dir, "rev-parse", "HEAD").Output()
	require.NoError(s.b, err)
	s.request(http.MethodPost, "/api/v1/webhook", "{}")
	s.wait(what+" to be considered", func() bool {
		if n := s.askOthers(); n != s.sets {
			s.b.Fatalf("%s: %d sets of other tenants, %d before", what, n, s.sets)
		}
		_, text := s.request(http.MethodGet, "/readyz", "")
		decided, err := accidents.Decided(text, strings.TrimSpace(string(head)), false)
		return decided && err == nil
	})
}

// atOnce is how many clients ask with entries of their own: with one more for other tenants they
// are as many as the service answers at a time.
const atOnce = 31

// distinctBases asks with 150 entries that are large and differ, many at once. Other tenants have
// their responses meanwhile.
func (s *limitedService) distinctBases() {
	s.b.Helper()
	numbers, failed := make(chan int), make(chan string, 150)
	var clients sync.WaitGroup
	for range atOnce {
		clients.Go(func() {
			for i := range numbers {
				base := fmt.Sprintf(`"base":{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"1"},"values":{"large":%q}},`, strings.Repeat(fmt.Sprint("base ", i, " "), 10_000))
				if status, text, err := s.send(http.MethodPost, "/api/v1/getparams.execute", others(base)); err != nil || status != http.StatusOK {
					failed <- fmt.Sprintf("%d %.500s %v", status, text, err)
				}
			}
		})
	}
	for i := range 150 {
		numbers <- i
		if n := s.askOthers(); n != s.sets {
			s.b.Fatalf("distinct bases: %d sets of other tenants, %d before", n, s.sets)
		}
	}
	close(numbers)
	clients.Wait()
	close(failed)
	for f := range failed {
		s.b.Errorf("distinct bases: %s", f)
	}
}

// peak is the most memory that the service has had resident.
func (s *limitedService) peak() float64 {
	s.b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	require.NoError(s.b, err)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		s.b.Fatal(err)
	}
	return kib * 1024
}

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/race"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	// mostMemory bounds what `argosy lint` has resident at most, in MiB, beside the files that it
	// reads, which it keeps. The program has some 50 of its own; a file of 1 MiB becomes some 100
	// of nodes with their places while it is parsed, and the collector lets garbage become as much
	// again.
	mostMemory = 300 * race.Slack
	// mostOutput bounds what it says, in bytes: 1,000 findings, of which each has a bounded text,
	// in SARIF and JSON twice.
	mostOutput = 2 << 20
)

// peakFile names the variable with the file that runMeasured writes to.
const peakFile = "ARGOSY_TEST_PEAK"

// residentPeak is the line of /proc/self/status with the most memory that a program has had
// resident. (The resource usage of a child has that of its parent, too: a test may have much.)
var residentPeak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// runMeasured runs the command, and writes the most memory that it has had resident, in MiB, to a
// file.
func runMeasured(file string) (status int) {
	status = run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	text, err := os.ReadFile("/proc/self/status")
	mustWork(err)
	peak, err := strconv.Atoi(string(residentPeak.FindSubmatch(text)[1]))
	mustWork(err)
	mustWork(os.WriteFile(file, []byte(strconv.Itoa(peak>>10)), 0o600))
	return status
}

// TestLintOfHostileRepositoryIsBounded: whatever is in a repository, the program ends with findings
// that name the place, within bounded memory, and says little. (H10)
func TestLintOfHostileRepositoryIsBounded(t *testing.T) {
	const (
		values  = "addons/tenants/t/defaults/addons/dns/values.yaml"
		cluster = "addons/tenants/t/clusters/c%02d/addons/dns/values.yaml"
	)
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8), c-1)
	}
	of := func(name string, text func() string) func(write func(string, string)) {
		return func(write func(string, string)) { write(name, text()) }
	}
	repeated := func(n int, texts ...string) func() string {
		return func() string {
			var b strings.Builder
			for _, text := range texts {
				b.WriteString(strings.Repeat(text, n))
			}
			return b.String()
		}
	}
	for _, c := range []struct {
		name  string
		files func(write func(name, text string))
		huge  string // a file of 8 GiB of zeros that takes no disk space
		want  string // a pattern of the text
	}{
		{"a good one", func(func(string, string)) {}, "", `^no problems: 41 clusters of 1 hub\n$`},
		{"an alias bomb", of(values, func() string { return bomb }), "", values + `:\d+:\d+: .*at most 500000`},
		{"40 alias bombs", func(write func(string, string)) {
			for i := range 40 {
				write(fmt.Sprintf(cluster, i), fmt.Sprintf("%sn: %d\n", bomb, i))
			}
		}, "", `clusters/c39/addons/dns/values.yaml:\d+:\d+: .*at most 500000`},
		{"lists in lists", of(values, repeated(5000, "[", "]")), "", values + `:1:\d+: .*at most 100 levels`},
		{"JSON in JSON", of(values, repeated(5000, `{"a":`, "}")), "", values + `:1:\d+: .*at most 100 levels`},
		{"maps in maps", of(values, func() string {
			var b strings.Builder
			for i := range 1200 {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		}), "", values + `:\d+:\d+: .*at most 100 levels`},
		{"lists without end", of(values, repeated(1_000_000, "[")), "", values + `: .*exceeded max depth of 10000`},
		{"a long text again", of(values, func() string {
			return "a: &a " + strings.Repeat("x", 500_000) + "\nb: [" + strings.Repeat("*a,", 100_000) + "]\n"
		}), "", values + `:\d+:\d+: .*at most 8388608`},
		{"10,000 problems in one file", of(values, repeated(10_001, "a: 1\n")), "", `9900 more problems are not listed`},
		{"4,000 problems in many", func(write func(string, string)) {
			for i := range 1000 {
				write(fmt.Sprintf("fleet/fleet-members/hub/x%d.yaml", i), fmt.Sprintf("clusterName: x%d\nenvironment: dev\na: 1\nb: 1\nc: 1\nd: 1\n", i))
			}
		}, "", `\n\.\.\. and 3000 more findings\n4000 errors`},
		{"200 of the largest files, with a problem in each line", func(write func(string, string)) {
			for i := range 200 {
				line := fmt.Sprintf("k%d: 1\n", i)
				write(fmt.Sprintf(strings.ReplaceAll(cluster, "dns", fmt.Sprintf("dns%d", i)), i%40), repeated(1<<20/len(line), line)())
			}
		}, "", `clusters/c39: .*the 5 files of this folder`},
		{"a file over the limit", of(values, repeated(1<<20+1, "x")), "", values + `: .*1048577 bytes.*at most 1048576 bytes`},
		{"a huge file", nil, values, values + `: .*8589934592 bytes.*at most 1048576 bytes`},
		{"a huge member", nil, "fleet/fleet-members/hub/c00.yaml", `c00.yaml: .*8589934592 bytes`},
		{"a huge layout", nil, "fleet/layout.yaml", `fleet/layout.yaml: .*8589934592 bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			size := 0
			write := func(name, text string) {
				size += len(text)
				path := filepath.Join(dir, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			}
			good := map[string]string{
				"fleet/fleet-members/hub/hub.yaml":                       "{clusterName: hub, tenant: p, environment: prod, fleet_member: hub-cluster}\n",
				"addons/tenants/t/defaults/application-sets/addons.yaml": "dns: {enabled: true, chart: {repoURL: r, name: dns, version: v1}}\n",
				"versions/applicationSets.yaml":                          "releases: {addons: [{type: default, chartRepo: r, ecrChartName: charts, version: v1}]}\n",
				"versions/fleetSecrets.yaml":                             "releases: [{type: default, chartRepo: r, ecrChartName: charts, version: v1}]\n",
				values:                                                   "a: 1\n",
			}
			for i := range 40 {
				good[fmt.Sprintf("fleet/fleet-members/hub/c%02d.yaml", i)] = fmt.Sprintf("{clusterName: c%02d, tenant: t, environment: dev, secretManagerSecretName: s}\n", i)
			}
			for _, name := range slices.Sorted(maps.Keys(good)) {
				write(name, good[name])
			}
			if c.files != nil {
				c.files(write)
			} else {
				write(c.huge, "")
				require.NoError(t, os.Truncate(filepath.Join(dir, c.huge), 8<<30))
			}
			status := 1
			if c.name == "a good one" {
				status = 0
			}
			lint := func(output string) []byte {
				peak := filepath.Join(t.TempDir(), "peak")
				cmd := exec.CommandContext(t.Context(), "argosy", "lint", "--strict", "--repo", dir, "-o", output)
				// As users run it: without a GOGC of the test's.
				cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") })
				cmd.Env = append(cmd.Env, peakFile+"="+peak)
				out, _ := cmd.CombinedOutput() // the status says more than the error
				text, err := os.ReadFile(peak)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				memory, err := strconv.ParseInt(string(text), 10, 64)
				require.NoError(t, err)
				if is := cmd.ProcessState.ExitCode(); is != status || memory > mostMemory+int64(size)>>20 || len(out) > mostOutput {
					t.Errorf("-o %s: status %d, %d MiB, %d bytes: %.500s", output, is, memory, len(out), out)
				}
				t.Logf("-o %s: %d MiB, %s of processor time, %d bytes", output, memory, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), len(out))
				return out
			}
			out := lint("text")
			if !regexp.MustCompile(c.want).Match(out) {
				t.Errorf("%.1000s\nwant %s", out, c.want)
			}
			if len(out) > mostOutput/20 { // others say more
				lint("json")
				lint("sarif")
			}
		})
	}
}

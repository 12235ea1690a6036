package docs

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const rulesPage = "docs/reference/rules.md"

// ruleCode is a rule's code: the letters are the sections of rules.md and those that are planned.
var ruleCode = regexp.MustCompile(`\b[HLRMNDGTUWP][0-9]{1,2}\b`)

// rule is one row of rules.md.
type rule struct{ code, text, proof string }

// rules reads the tables of rules.md.
func rules(t *testing.T) []rule {
	t.Helper()
	var out []rule
	row := regexp.MustCompile(`(?m)^\| ([A-Z]\d+) \| (.+) \| ([^|]+) \|$`)
	for _, m := range row.FindAllStringSubmatch(read(t, rulesPage), -1) {
		out = append(out, rule{m[1], m[2], m[3]})
	}
	if len(out) == 0 {
		t.Fatalf("%s: no rules", rulesPage)
	}
	return out
}

// Every code that code, comments, charts or documents cite is defined once.
func TestCitedRulesAreDefined(t *testing.T) {
	t.Parallel()
	defined := map[string]bool{}
	for _, r := range rules(t) {
		if defined[r.code] {
			t.Errorf("%s: %s is defined twice", rulesPage, r.code)
		}
		defined[r.code] = true
	}
	kinds := []string{".go", ".md", ".yaml", ".tpl", ".txt", ".txtar", ".sh"}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != root && strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(kinds, path.Ext(p)) {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(data), "\n") {
			for _, code := range ruleCode.FindAllString(line, -1) {
				if !defined[code] && !strings.Contains(line, "od -An -N24") {
					t.Errorf("%s:%d: rule %s is not in %s", p, i+1, code, rulesPage)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// The tests and scripts that rules.md names exist in the packages that it names.
func TestRulesHaveTheirTests(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile("`([^`]+)`")
	for _, r := range rules(t) {
		folder, proofs := "", 0
		for part := range strings.SplitSeq(r.proof, ";") {
			script := strings.HasPrefix(strings.TrimSpace(part), "script ")
			for _, m := range quoted.FindAllStringSubmatch(part, -1) {
				switch name := m[1]; {
				case script:
					proofs++
					if _, err := os.Stat(filepath.Join(root, "cmd/argosy/testdata/script", name+".txtar")); err != nil {
						t.Errorf("rule %s: no script %s", r.code, name)
					}
				case strings.HasPrefix(name, "Test"), strings.HasPrefix(name, "Fuzz"):
					proofs++
					if !hasTest(t, folder, name) {
						t.Errorf("rule %s: no %s in %s", r.code, name, folder)
					}
				default:
					folder = name
				}
			}
		}
		if proofs == 0 {
			t.Errorf("rule %s names no test", r.code)
		}
	}
}

// hasTest reports whether a test file of the folder declares the function.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(data), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

// Only rules.md names tests: elsewhere a reader has no use for them, and names change.
func TestOnlyTheRulesNameTests(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`\b(Test|Fuzz|Benchmark)[A-Z]\w+`)
	for file, text := range pages(t) {
		if file == rulesPage || file == "CONTRIBUTING.md" {
			continue
		}
		for _, found := range name.FindAllString(text, -1) {
			t.Errorf("%s names the test %s; cite the rule that it proves", file, found)
		}
	}
}

// A target works as it is documented, without variables that the user would have to set: the
// Makefile defines all that it uses, but those of the environment and of make itself.
func TestMakefileDefinesItsVariables(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	defined := []string{"CURDIR", "HOME", "MAKE", "MAKEFILE_LIST", "XDG_CACHE_HOME"}
	for _, m := range regexp.MustCompile(`(?m)^(?:[a-z0-9-]+: export )?([A-Z][A-Z0-9_]*) *[?:]?=`).FindAllStringSubmatch(string(content), -1) {
		defined = append(defined, m[1])
	}
	used := regexp.MustCompile(`[^$]\$\(([A-Z][A-Z0-9_]*)\)|\$\(if \$\(([A-Z]+)\)`).FindAllStringSubmatch(string(content), -1)
	if len(used) < 50 {
		t.Fatalf("the Makefile uses variables in %d places: they are not understood", len(used))
	}
	for _, m := range used {
		if name := m[1] + m[2]; !slices.Contains(defined, name) {
			t.Errorf("$(%s) has no value without one that the user sets: give it a default, NAME ?=", name)
		}
	}
}

// docs/how-to/member-access.sh gives the hub the member's token by standard input, names both
// contexts where they belong, and prints values without a credential. kubectl and helm are
// stand-ins that note what they get.
func TestMemberAccessScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	for name, does := range map[string]string{
		"helm": "exit 0",
		"kubectl": `case "$*" in
*create\ token*) echo minted;;
*clusters*.server*) echo https://edge-1.example.com:6443;;
*certificate-authority-data*) echo Y2E=;;
*apply*) cat >> "$CALLS";;
esac`,
	} {
		text := "#!/bin/sh\necho " + name + " \"$@\" >> \"$CALLS\"\n" + does + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	values := filepath.Join(dir, "access.yaml")
	require.NoError(t, os.WriteFile(values, []byte("name: \"deployer\" # of the hub\nnamespaces: {shop: {clusterRole: edit}}\n"), 0o600))
	script := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "sh", append([]string{filepath.Join(root, "docs/how-to/member-access.sh")}, args...)...)
		command.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "CALLS=" + log}
		var out bytes.Buffer
		command.Stdout = &out
		err := command.Run()
		return out.String(), err
	}
	out, err := script("edge-1", "edge-admin", "hub-admin", "flux-system", values, "chart")
	require.NoError(t, err)
	if want := "side: hub\nhub:\n  cluster: edge-1\n  server: https://edge-1.example.com:6443\n  caData: Y2E=\n"; out != want {
		t.Errorf("it prints %q, want %q", out, want)
	}
	calls, err := os.ReadFile(log)
	require.NoError(t, err)
	for _, want := range []string{
		"helm --kube-context edge-admin upgrade --install member-access chart --namespace fleet-access --create-namespace --values " + values + " --set side=member\n",
		"kubectl --context edge-admin --namespace fleet-access create token deployer --duration 1h\n",
		"kubectl --context hub-admin apply --filename -\n",
		"  name: edge-1-access\n  namespace: flux-system\n  labels: {argosy.dev/cluster: edge-1, external-secrets.io/type: webhook}\nstringData: {token: minted}\n",
	} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("the calls lack %q:\n%s", want, calls)
		}
	}
	assert.Equal(t, 1, strings.Count(string(calls), "minted"), "the token is in an argument:\n%s", calls)
	if _, err := script("edge-1"); err == nil {
		t.Error("too few arguments are accepted")
	}
}

package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
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

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

// The tests that topologies.md names exist, with their parts and scripts, and each row has one.
func TestTopologiesHaveTheirTests(t *testing.T) {
	t.Parallel()
	const page = "docs/topologies.md"
	_, table, _ := strings.Cut(read(t, page), "\n| part | page | proof |\n")
	tests, rows := allTests(t), strings.Split(strings.TrimSpace(table), "\n")[1:]
	flows := ""
	files, err := filepath.Glob(filepath.Join(root, "test/e2e/*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatal("no flows", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		flows += string(data)
	}
	isPart := func(test, part string) bool {
		if test == "TestScripts" {
			_, err := os.Stat(filepath.Join(root, "cmd/argosy/testdata/script", part+".txtar"))
			return err == nil
		}
		return part == "" || strings.Contains(flows, `{"`+part+`", `)
	}
	for _, row := range rows {
		names := regexp.MustCompile("`(Test\\w+)(/[^`]+)?`").FindAllStringSubmatch(row, -1)
		if len(names) == 0 {
			t.Errorf("%s: a row without a test: %s", page, row)
		}
		for _, name := range names {
			if !tests[name[1]] || !isPart(name[1], strings.TrimPrefix(name[2], "/")) {
				t.Errorf("%s: no test %s%s", page, name[1], name[2])
			}
		}
	}
}

// The tests and scripts that security.md names exist, and each of its sections about protection
// has a table of them, no row of which is without.
func TestSecurityPromisesHaveTheirTests(t *testing.T) {
	t.Parallel()
	const page = "docs/security.md"
	tests := allTests(t)
	row := regexp.MustCompile(`(?m)^\| (.+) \| ([^|]*) \|$`)
	quoted := regexp.MustCompile("`([^`]+)`")
	for _, name := range regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(read(t, page), -1) {
		if !tests[name[1]] {
			t.Errorf("%s: no test %s", page, name[1])
		}
	}
	_, text, _ := strings.Cut(read(t, page), "\n## Who can do what\n")
	text, _, _ = strings.Cut(text, "\n## Before you go live\n")
	for _, section := range regexp.MustCompile(`(?m)^###? `).Split(text, -1)[1:] {
		title, content, _ := strings.Cut(section, "\n")
		_, table, found := strings.Cut(content, "| promise | test |\n")
		if !found {
			t.Errorf("%s: section %q has no table of promises and tests", page, title)
			continue
		}
		table, _, _ = strings.Cut(table, "\n\n")
		for _, m := range row.FindAllStringSubmatch(table, -1) {
			names := quoted.FindAllStringSubmatch(m[2], -1)
			if len(names) == 0 {
				t.Errorf("%s: section %q: no test of %q", page, title, m[1])
			}
			for _, name := range names {
				_, err := os.Stat(filepath.Join(root, "cmd/argosy/testdata/script", name[1]+".txtar"))
				if err != nil && !tests[name[1]] {
					t.Errorf("%s: section %q: no test or script %s", page, title, name[1])
				}
			}
		}
	}
}

// allTests are the names of all tests and fuzz targets of the repository.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	declared, all := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`), map[string]bool{}
	for _, folder := range []string{"cmd", "hack", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(p string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(p, "_test.go") {
				return err
			}
			data, err := os.ReadFile(p)
			for _, m := range declared.FindAllStringSubmatch(string(data), -1) {
				all[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

package docs

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestLessonsHaveTheirTests: what docs/design/0007-lessons.md names as proof is there.
func TestLessonsHaveTheirTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/design/0007-lessons.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|.*\| ([^|]+) \|$`).FindAllStringSubmatch(string(page), -1)
	if len(rows) != 14 {
		t.Fatalf("%d lessons, want 14", len(rows))
	}
	for _, row := range rows {
		for name := range strings.SplitSeq(row[2], ", ") {
			name = strings.Trim(name, "` ")
			if !strings.HasPrefix(name, "Test") {
				if _, err := os.Stat("../../cmd/argosy/testdata/script/" + name + ".txtar"); err != nil {
					t.Errorf("lesson %s: no script %s", row[1], name)
				}
				continue
			}
			grep := exec.Command("grep", "-rqE", "--include=*_test.go", `^func `+name+`\(`, "../../internal", "../../test")
			if err := grep.Run(); err != nil {
				t.Errorf("lesson %s: no test %s", row[1], name)
			}
		}
	}
}

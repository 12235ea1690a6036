package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// columns is how wide a line of a comment or of Markdown may be; a tab counts as four.
const columns = 100

// Comments and Markdown are at most 100 columns wide, but for tables, links, code and directives.
func TestCommentsAndMarkdownAreNarrow(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if p != root && strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		if isGenerated(p) {
			return nil
		}
		tooWide := map[string]func(string) bool{".go": wideComment, ".md": wideText()}[path.Ext(p)]
		if tooWide == nil {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(data), "\n") {
			if tooWide(line) {
				t.Errorf("%s:%d: %d columns; expected at most %d", p, i+1, width(line), columns)
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// isGenerated reports whether a document is written from a chart's files or from commands' help
// texts.
func isGenerated(p string) bool {
	for _, pattern := range []string{"charts/*/README.md", "docs/reference/cli.md", "docs/reference/service.md"} {
		if ok, _ := path.Match(path.Join(root, pattern), filepath.ToSlash(p)); ok {
			return true
		}
	}
	return false
}

func width(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

// wideComment reports whether a line is a comment that is too wide, though it could be broken.
func wideComment(line string) bool {
	text, is := strings.CutPrefix(strings.TrimSpace(line), "// ")
	return is && width(line) > columns && !strings.HasPrefix(text, "\t") && strings.Contains(text, " ")
}

// wideText reports whether lines of Markdown, one after another, are too wide.
func wideText() func(line string) bool {
	fenced := false
	return func(line string) bool {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
			return false
		}
		code := fenced || strings.HasPrefix(line, "    ")
		exempt := code || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "<!--") || strings.Contains(line, "](")
		return !exempt && width(line) > columns && strings.Contains(trimmed, " ")
	}
}

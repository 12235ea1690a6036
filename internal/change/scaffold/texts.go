package scaffold

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// The texts are templates with brackets of their own, because Argo CD's templates are among them.
//
//go:embed templates
var embedded embed.FS

var texts = template.Must(template.New("").Delims("[[", "]]").Option("missingkey=error").
	Funcs(template.FuncMap{"quote": scalar}).ParseFS(embedded, "templates/*"))

// text executes one of the texts for a fleet.
func text(name string, data any) (string, error) {
	var b strings.Builder
	if err := texts.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("text %s: %w", name, err)
	}
	return b.String(), nil
}

// scalar returns a text as YAML, on one line, in quotes where YAML would read another type or the
// end of a list.
func scalar(text string) string {
	node := yamldoc.FromAny(nil, map[string]any{"k": text})
	out, err := node.YAML()
	plain := strings.TrimSuffix(strings.TrimPrefix(string(out), "k: "), "\n")
	if err != nil || strings.Contains(text, "\n") || strings.Contains(plain, "\n") || plain == text && strings.ContainsAny(text, ",[]{}") {
		return fmt.Sprintf("%q", text)
	}
	return plain
}

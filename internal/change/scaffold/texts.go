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
	Funcs(template.FuncMap{"quote": yamldoc.Scalar, "pairs": pairsOf}).ParseFS(embedded, "templates/*"))

// text executes one of the texts for a fleet.
func text(name string, data any) (string, error) {
	var b strings.Builder
	if err := texts.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("text %s: %w", name, err)
	}
	return b.String(), nil
}

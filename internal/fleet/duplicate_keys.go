package fleet

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/problem"
)

// duplicateKeys is the severity that the layout sets: error, the default, or warn.
func (p layoutParser) duplicateKeys() problem.Severity {
	const key = "duplicateKeys"
	switch text := p.root.String(key); text {
	case "", "error":
	case "warn":
		return problem.Warning
	default:
		p.r.Add(problem.InvalidLayout, p.root.Node().Get(key), fmt.Sprintf("key %q", key), fmt.Sprintf("%q", text), "error or warn", problem.Nearest(text, []string{"error", "warn"})...)
	}
	return problem.Error
}

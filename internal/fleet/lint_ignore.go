package fleet

import (
	"errors"

	"github.com/argosy-hub/argosy/internal/pathpattern"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// IgnoredPath is a pattern of paths whose warnings lint leaves out.
type IgnoredPath struct {
	pathpattern.Glob
	Pos problem.Pos
}

// lintIgnore reads the patterns.
func (p layoutParser) lintIgnore() (out []IgnoredPath) {
	m := p.root.Map("lint")
	m.Known("ignore")
	for _, n := range m.List("ignore") {
		g, err := pathpattern.NewGlob(n.Text())
		if n.Kind != yamldoc.String {
			err = errors.New("has an element that is a " + n.Kind.String())
		}
		if err != nil {
			p.r.Add(problem.InvalidLayout, n, `key "ignore"`, err.Error(), "a path in the repository, such as addons/**/.keep")
			continue
		}
		out = append(out, IgnoredPath{g, n.Pos()})
	}
	return out
}

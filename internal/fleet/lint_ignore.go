package fleet

import (
	"errors"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/pathpattern"
)

// IgnoredPath is a pattern of paths whose warnings lint leaves out.
type IgnoredPath struct {
	pathpattern.Glob
	Pos problem.Pos
}

// ReadNode reads a pattern.
func (p *IgnoredPath) ReadNode(n *yamldoc.Node) (err error) {
	if n.Kind != yamldoc.String {
		return errors.New("is a " + n.Kind.String())
	}
	p.Pos = n.Pos()
	p.Glob, err = pathpattern.NewGlob(n.Text())
	return err
}

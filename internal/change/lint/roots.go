package lint

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// roots reports groups whose root in the layout no member uses, because all have one of their own.
func (l *linter) roots() {
	for _, name := range l.st.Fleet.Layout.GroupNames() {
		group, key := l.st.Fleet.Layout.Groups[name], name+"_repo_basepath"
		var instead problem.Pos
		used := false
		for m, c := range l.st.Clusters() {
			g := c.Desired().Groups[name]
			used = used || g == nil || g.Root == group.Root
			if pos := m.KeyPos(key); instead.IsZero() || pos.Compare(instead) < 0 {
				instead = pos
			}
		}
		if used || instead.IsZero() {
			continue
		}
		p := problem.Problem{
			Reason: problem.NoEffect, Severity: problem.Warning, Pos: group.Pos, Subject: fmt.Sprintf("root of group %q", name),
			Found: fmt.Sprintf("%q has no effect: every member sets %s", group.Root, key), Expected: "the root of some member", Related: []problem.Pos{instead},
		}
		if group.Pos.File != l.st.Fleet.Layout.File { // the default layout's
			p.Pos, p.Related = instead, nil
		}
		if n := len(l.st.Resolver().Snapshot.Under(group.Root)); n > 0 {
			p.Found += fmt.Sprintf(", so its files are not read (%d)", n)
		}
		l.problems = append(l.problems, p)
	}
}

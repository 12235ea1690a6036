package planreport

import (
	"strings"

	"github.com/argosy-hub/argosy/internal/plan"
)

// secretLine is an access to secrets as a line of its cluster.
func secretLine(a plan.SecretAccess) planLine {
	l := planLine{action: a.Action, secret: true, position: a.Position.String()}
	verb, store := "reads ", "from "+a.Store.String()
	switch a.Verb {
	case plan.AssumeRole:
		l.titles = []string{a.Store.String()}
		l.about = "assumes " + Named(a.Names)
		return l
	case plan.WriteSecret:
		verb, store = "writes ", "to "+a.Store.String()
	}
	if len(a.Roles) > 0 {
		store += " as " + strings.Join(a.Roles, ", ")
	}
	l.titles = []string{verb + Named(a.Names)}
	l.about = store + ", by " + a.Kind + " " + a.Name
	if a.Namespace != "" {
		l.about += " in " + a.Namespace
	}
	return l
}

// unit is what a line without differences counts.
func (l planLine) unit() string {
	switch {
	case l.secret:
		return "access"
	case l.object:
		return "object"
	}
	return "Application"
}

// Accesses are numbers of remote names that clusters newly read or write, or roles that stores
// newly have, and of those that they no longer do.
type Accesses struct {
	New     int `json:"new"`
	Removed int `json:"removed"`
}

func (s *Accesses) add(a plan.SecretAccess) {
	if a.Action == plan.Remove {
		s.Removed += len(a.Names)
	} else {
		s.New += len(a.Names)
	}
}

// String ends the line that sums a plan up.
func (s Accesses) String() string {
	text := phrase{{s.New, "new"}, {s.Removed, "no longer"}}.String()
	if text == "" {
		return ""
	}
	return "; secrets: " + text
}

package planreport

import (
	"github.com/argosy-hub/argosy/internal/base/planpage"
	"github.com/argosy-hub/argosy/internal/change/plan"
)

// access is the unit of lines about secrets.
const access = "access"

// secretLine formats an access to secrets as a line of its cluster.
func secretLine(a plan.SecretAccess) planpage.Line {
	verb, store := "reads ", "from "+a.Store.String()
	switch a.Verb {
	case plan.AssumeRole:
		return line(a.Action, access, a.Store.String(), nil, "assumes "+Named(a.Names), at(a.Position))
	case plan.WriteSecret:
		verb, store = "writes ", "to "+a.Store.String()
	}
	about := store + ", by " + a.Kind + " " + a.Name
	if a.Namespace != "" {
		about += " in " + a.Namespace
	}
	return line(a.Action, access, verb+Named(a.Names), nil, about, at(a.Position))
}

// Accesses counts the remote names that clusters newly read or write, the roles that stores newly
// have, and the accesses that end.
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

// String formats the counts as the end of a plan's summary line.
func (s Accesses) String() string {
	text := phrase([]planpage.Count{{Number: s.New, What: "new"}, {Number: s.Removed, What: "no longer"}})
	if text == "" {
		return ""
	}
	return "; secrets: " + text
}

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/labels"
)

// APIVersion is the API version of policy files.
const APIVersion = "argosy.dev/v1alpha1"

// Parse reads a policy file. Problems are all that is wrong with it; a policy with an error must
// not be used.
func Parse(file *snapshot.File, doc *yamldoc.Doc, err error) (*Policy, []problem.Problem) {
	name, _ := PolicyName(file.Path)
	p := &Policy{Name: name, Pos: problem.Pos{File: file.Path}, digest: file.Digest, text: file.Data}
	if err != nil {
		return p, problem.From(err, problem.InvalidRollout, p.Pos)
	}
	p.shape = shapeOf(file, doc)
	return p, yamldoc.NewReader(doc).Decode(doc.Root, "the rollout policy", problem.InvalidRollout, p).Problems()
}

// Equal reports whether two policies are of the same file with the same contents.
func (p *Policy) Equal(q *Policy) bool { return p.Pos.File == q.Pos.File && p.digest == q.digest }

// Check checks what concerns more than one key.
func (p *Policy) Check(at yamldoc.At) {
	if p.ScopePos = at.Pos("scope"); !labels.IsName(p.Name) {
		at.AddAt(problem.InvalidRollout, p.Pos, fmt.Sprintf("rollout %q", p.Name), "is not a rollout's name", "a file named by a DNS-1123 label, such as prod.yaml")
	}
	var known []string
	for i, r := range p.Rings {
		if slices.Contains(known, r.Name) {
			at.Item("rings", i).Wrong("name", fmt.Sprintf("%q is the name of another ring", r.Name), "each name once")
		}
		known = append(known, r.Name)
	}
	isRing := func(at yamldoc.At, name string) {
		if !slices.Contains(known, name) {
			at.Wrong("ring", fmt.Sprintf("%q is not a ring", name), "one of "+strings.Join(known, ", "), problem.Nearest(name, known)...)
		}
	}
	for i, a := range p.Approvals {
		isRing(at.Item("approvals", i), a.Ring)
	}
	for i, x := range p.Pins {
		isRing(at.Item("pins", i), x.Ring)
	}
}

// defaultTimeout and maxTimeout bound one query of a check.
const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = time.Minute
)

// Check checks what concerns more than one key.
func (c *Check) Check(at yamldoc.At) {
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	_, rest, _ := strings.Cut(c.URL, "://")
	if host, _, _ := strings.Cut(rest, "/"); strings.Contains(host, "@") {
		at.Wrong("url", "it has a user or a password", "an address without credentials, as everybody can read this file")
	}
	if (c.Query != "") != (c.Min != nil || c.Max != nil) {
		at.Wrong("query", "query, min and max belong together", "a query with min, max or both; or none of them")
	}
}

// Check reads the hours.
func (w *Window) Check(at yamldoc.At) {
	w.Zone, w.From, w.To = Zone(at, w.TimeZone), clock(at, "from", w.Opens, 0), clock(at, "to", w.Closes, 24*60)
	if w.From == w.To {
		at.Wrong("to", "the same as from", "another time; leave out both for the whole day")
	}
}

// clock reads a time of the day, in minutes.
func clock(at yamldoc.At, key, text string, fallback int) int {
	switch t, err := time.Parse("15:04", text); {
	case text == "":
	case text == "24:00":
		return 24 * 60
	case err == nil:
		return t.Hour()*60 + t.Minute()
	default:
		at.Wrong(key, fmt.Sprintf("%q", text), `a time of the day in quotes, such as "09:00"`)
	}
	return fallback
}

// Zone returns the time zone of the key timeZone, whose text is name; UTC if it is empty or wrong.
func Zone(at yamldoc.At, name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		at.Wrong("timeZone", fmt.Sprintf("%q", name), "a time zone such as Europe/Berlin; without one, UTC")
		return time.UTC
	}
	return zone
}

// Check reads the moments. A last day ends at its midnight.
func (f *Freeze) Check(at yamldoc.At) {
	zone := Zone(at, f.TimeZone)
	var isDay bool
	f.From, _ = moment(at, "from", f.First, zone)
	if f.To, isDay = moment(at, "to", f.Last, zone); isDay {
		f.To = f.To.AddDate(0, 0, 1)
	}
	if !f.From.Before(f.To) && !f.From.IsZero() && !f.To.IsZero() {
		at.Wrong("to", "not after from", "a later moment")
	}
}

// moment reads a day, or a day and a time.
func moment(at yamldoc.At, key, text string, zone *time.Location) (t time.Time, isDay bool) {
	if t, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return t, true
	}
	t, err := time.ParseInLocation("2006-01-02T15:04", text, zone)
	if err != nil && text != "" {
		at.Wrong(key, fmt.Sprintf("%q", text), "a day such as 2026-12-20, or a moment such as 2026-12-20T18:00")
	}
	return t, false
}

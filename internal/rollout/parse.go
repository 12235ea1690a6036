package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// What a policy file says it is.
const (
	APIVersion = "argosy.dev/v1alpha1"
	Kind       = "Rollout"
)

// Limits of a policy (H10).
const (
	maxRings = 20
	maxItems = 100
	maxSoak  = 60 * 24 * time.Hour
)

// Parse reads a policy file. Problems are all that is wrong with it; a policy with an error is not
// to be used.
func Parse(file *snapshot.File, doc *yamldoc.Doc, err error) (*Policy, []problem.Problem) {
	name, _ := PolicyName(file.Path)
	p := &Policy{Name: name, Pos: problem.Pos{File: file.Path}, digest: file.Digest}
	if err != nil {
		return p, problem.From(err, problem.InvalidRollout, p.Pos)
	}
	r := yamldoc.NewReader(doc)
	parser{p, r, r.Map(doc.Root, "the rollout policy")}.parse()
	return p, r.Problems()
}

// IsOf reports whether a policy is that of a file.
func (p *Policy) IsOf(file *snapshot.File) bool {
	return p.Pos.File == file.Path && p.digest == file.Digest
}

// Equal reports whether two policies are of the same file with the same contents.
func (p *Policy) Equal(q *Policy) bool { return p.Pos.File == q.Pos.File && p.digest == q.digest }

type parser struct {
	p *Policy
	r *yamldoc.Reader
	m *yamldoc.MapReader
}

func (x parser) parse() {
	x.m.Known("apiVersion", "kind", "scope", "paused", "agents", "rings", "approvals", "pins")
	x.m.Const("apiVersion", APIVersion)
	if x.m.Const("kind", Kind); !x.m.Has("kind") {
		x.missing(x.m, "kind", strconv.Quote(Kind))
	}
	if !labels.IsName(x.p.Name) {
		x.r.AddAt(problem.InvalidRollout, x.p.Pos, fmt.Sprintf("rollout %q", x.p.Name), "is no name of a rollout", "a file named by a DNS-1123 label, such as prod.yaml")
	}
	x.scope()
	x.p.Paused, x.p.Agents = x.m.Bool("paused", false), x.m.Bool("agents", false)
	rings := x.list(x.m, "rings", maxRings)
	if len(rings) == 0 {
		x.missing(x.m, "rings", "at least one ring")
	}
	for i, n := range rings {
		x.ring(n, fmt.Sprintf("rings[%d]", i))
	}
	for i, n := range x.list(x.m, "approvals", maxItems) {
		x.approval(n, fmt.Sprintf("approvals[%d]", i))
	}
	for i, n := range x.list(x.m, "pins", maxItems) {
		at := fmt.Sprintf("pins[%d]", i)
		m := x.r.Map(n, at)
		m.Known("ring", "revision", "reason")
		x.p.Pins = append(x.p.Pins, Pin{Ring: x.ringName(m, at), Revision: x.revision(m, at), Reason: m.String("reason"), Pos: n.Pos()})
	}
}

func (x parser) missing(m *yamldoc.MapReader, key, expected string) {
	x.r.AddAt(problem.InvalidRollout, m.KeyPos(key), fmt.Sprintf("key %q", key), "missing or empty", expected)
}

func (x parser) wrong(m *yamldoc.MapReader, at, key, found, expected string) {
	x.r.AddAt(problem.InvalidRollout, m.KeyPos(key), fmt.Sprintf("key %q", strings.TrimPrefix(at+"."+key, ".")), found, expected)
}

// list is a list of at most so many elements.
func (x parser) list(m *yamldoc.MapReader, key string, limit int) []*yamldoc.Node {
	items := m.List(key)
	if len(items) > limit {
		x.r.AddAt(problem.LimitExceeded, m.KeyPos(key), fmt.Sprintf("key %q", key), fmt.Sprintf("%d elements", len(items)), fmt.Sprintf("at most %d", limit))
		return items[:limit]
	}
	return items
}

func (x parser) texts(m *yamldoc.MapReader, at, key string, isValid func(string) bool, expected string) (out []string) {
	for _, n := range x.list(m, key, maxItems) {
		if n.Kind != yamldoc.String || !isValid(n.Text()) {
			x.wrong(m, at, key, fmt.Sprintf("%q", n.Text()), expected)
			continue
		}
		out = append(out, n.Text())
	}
	return out
}

func (x parser) scope() {
	m := x.m.Map("scope")
	m.Known("groups", "components", "tenants")
	isComponent := func(text string) bool {
		group, component, ok := strings.Cut(text, "/")
		return ok && labels.IsName(group) && labels.IsName(component)
	}
	x.p.ScopePos = x.m.KeyPos("scope")
	x.p.Scope = Scope{
		Groups:     x.texts(m, "scope", "groups", labels.IsName, "names of groups, such as addons"),
		Components: x.texts(m, "scope", "components", isComponent, "group/component, such as addons/external-dns"),
		Tenants:    x.texts(m, "scope", "tenants", labels.IsName, "names of tenants"),
	}
}

func (x parser) ring(n *yamldoc.Node, at string) {
	m := x.r.Map(n, at)
	m.Known("name", "selector", "maxUnavailable", "soak", "deadline", "checks", "windows", "freezes", "approval", "onFailure")
	r := Ring{Name: m.String("name"), Pos: n.Pos()}
	if !labels.IsName(r.Name) {
		x.wrong(m, at, "name", fmt.Sprintf("%q", r.Name), "a DNS-1123 label")
	}
	if x.p.Ring(r.Name) != nil {
		x.wrong(m, at, "name", fmt.Sprintf("%q is the name of another ring", r.Name), "each name once")
	}
	var err error
	if !m.Has("selector") && !m.Node().Get("selector").IsMap() {
		x.missing(m, "selector", "a selector over the labels of member files; {} selects all")
	} else if r.Selector, err = labels.ParseSelector(m.Node().Get("selector").Any()); err != nil {
		x.wrong(m, at, "selector", err.Error(), "matchLabels and matchExpressions")
	}
	if text := m.String("maxUnavailable"); text != "" {
		if r.MaxUnavailable, err = parseLimit(text); err != nil {
			x.wrong(m, at, "maxUnavailable", err.Error(), "a number such as 1, or a share such as 10%")
		}
	}
	r.Soak, r.Deadline = x.duration(m, at, "soak", maxSoak), x.duration(m, at, "deadline", maxSoak)
	for i, c := range x.list(m, "checks", maxRings) {
		r.Checks = append(r.Checks, x.check(c, fmt.Sprintf("%s.checks[%d]", at, i)))
	}
	for i, w := range x.list(m, "windows", maxItems) {
		r.Windows = append(r.Windows, x.window(w, fmt.Sprintf("%s.windows[%d]", at, i)))
	}
	for i, f := range x.list(m, "freezes", maxItems) {
		r.Freezes = append(r.Freezes, x.freeze(f, fmt.Sprintf("%s.freezes[%d]", at, i)))
	}
	r.NeedsApproval = x.choice(m, at, "approval", "required", "none") == "required"
	r.GoesBack = x.choice(m, at, "onFailure", "back", "hold") == "back"
	x.p.Rings = append(x.p.Rings, r)
}

// choice is a text out of some; the last is the default.
func (x parser) choice(m *yamldoc.MapReader, at, key string, of ...string) string {
	text := m.String(key)
	if text == "" {
		return of[len(of)-1]
	}
	if !slices.Contains(of, text) {
		x.wrong(m, at, key, fmt.Sprintf("%q", text), strings.Join(of, " or "))
	}
	return text
}

func (x parser) duration(m *yamldoc.MapReader, at, key string, limit time.Duration) time.Duration {
	text := m.String(key)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > limit {
		x.wrong(m, at, key, fmt.Sprintf("%q", text), fmt.Sprintf("a duration such as 30m or 24h, at most %s", limit))
		return 0
	}
	return d
}

// defaultTimeout and maxTimeout bound one query of a check.
const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = time.Minute
)

func (x parser) check(n *yamldoc.Node, at string) Check {
	m := x.r.Map(n, at)
	m.Known("name", "url", "query", "min", "max", "timeout")
	c := Check{Name: m.String("name"), URL: m.String("url"), Query: m.String("query"), Timeout: x.duration(m, at, "timeout", maxTimeout)}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Name == "" {
		x.missing(m, "name", "what the check is called")
	}
	scheme, rest, _ := strings.Cut(c.URL, "://")
	switch host, _, _ := strings.Cut(rest, "/"); {
	case host == "" || scheme != "https" && scheme != "http":
		x.wrong(m, at, "url", fmt.Sprintf("%q", c.URL), "an address that begins with https:// or http://")
	case strings.Contains(host, "@"):
		x.wrong(m, at, "url", "it has a user or a password", "an address without credentials, as everybody can read this file")
	}
	c.Min, c.Max = x.number(m, at, "min"), x.number(m, at, "max")
	if (c.Query != "") != (c.Min != nil || c.Max != nil) {
		x.wrong(m, at, "query", "query, min and max belong together", "a query with min, max or both; or none of them")
	}
	return c
}

func (x parser) number(m *yamldoc.MapReader, at, key string) *float64 {
	text := m.String(key)
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		x.wrong(m, at, key, fmt.Sprintf("%q", text), "a number")
		return nil
	}
	return &v
}

// weekdays are as policies name them, from Sunday.
var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (x parser) window(n *yamldoc.Node, at string) Window {
	m := x.r.Map(n, at)
	m.Known("days", "from", "to", "timeZone")
	w := Window{Zone: x.zone(m, at), From: x.clock(m, at, "from", 0), To: x.clock(m, at, "to", 24*60)}
	for _, day := range x.texts(m, at, "days", func(s string) bool { return slices.Contains(weekdays, s) }, "days such as mon, tue") {
		w.Days = append(w.Days, time.Weekday(slices.Index(weekdays, day)))
	}
	if w.From == w.To {
		x.wrong(m, at, "to", "the same as from", "another time; leave out both for the whole day")
	}
	return w
}

// clock is a time of the day, in minutes.
func (x parser) clock(m *yamldoc.MapReader, at, key string, fallback int) int {
	text := m.String(key)
	if text == "" {
		return fallback
	}
	if text == "24:00" {
		return 24 * 60
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		x.wrong(m, at, key, fmt.Sprintf("%q", text), `a time of the day in quotes, such as "09:00"`)
		return fallback
	}
	return t.Hour()*60 + t.Minute()
}

func (x parser) zone(m *yamldoc.MapReader, at string) *time.Location {
	name := m.String("timeZone")
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		x.wrong(m, at, "timeZone", fmt.Sprintf("%q", name), "a time zone such as Europe/Berlin; without one, UTC")
		return time.UTC
	}
	return zone
}

// freezeForms are how a freeze says when it begins and ends.
var freezeForms = []string{time.DateOnly, "2006-01-02T15:04"}

func (x parser) freeze(n *yamldoc.Node, at string) Freeze {
	m := x.r.Map(n, at)
	m.Known("from", "to", "timeZone", "reason")
	zone := x.zone(m, at)
	f := Freeze{From: x.moment(m, at, "from", zone, false), To: x.moment(m, at, "to", zone, true), Reason: m.String("reason")}
	if !f.From.Before(f.To) && !f.From.IsZero() && !f.To.IsZero() {
		x.wrong(m, at, "to", "not after from", "a later moment")
	}
	return f
}

// moment is a day, or a day and a time. A last day ends at its midnight.
func (x parser) moment(m *yamldoc.MapReader, at, key string, zone *time.Location, isLast bool) time.Time {
	text := m.String(key)
	for i, form := range freezeForms {
		if t, err := time.ParseInLocation(form, text, zone); err == nil {
			if isLast && i == 0 {
				t = t.AddDate(0, 0, 1)
			}
			return t
		}
	}
	x.wrong(m, at, key, fmt.Sprintf("%q", text), "a day such as 2026-12-20, or a moment such as 2026-12-20T18:00")
	return time.Time{}
}

func (x parser) approval(n *yamldoc.Node, at string) {
	m := x.r.Map(n, at)
	m.Known("ring", "revision", "expires", "overtake", "reason")
	a := Approval{Ring: x.ringName(m, at), Revision: x.revision(m, at), Overtakes: m.Bool("overtake", false), Reason: m.String("reason"), Pos: n.Pos()}
	var err error
	if a.Expires, err = time.Parse(time.DateOnly, m.String("expires")); err != nil {
		x.wrong(m, at, "expires", fmt.Sprintf("%q", m.String("expires")), "the last day of the approval, such as 2026-12-01")
	}
	if strings.TrimSpace(a.Reason) == "" {
		x.wrong(m, at, "reason", "missing or empty", "why the ring may take it")
	}
	x.p.Approvals = append(x.p.Approvals, a)
}

func (x parser) ringName(m *yamldoc.MapReader, at string) string {
	name := m.String("ring")
	if x.p.Ring(name) == nil {
		known := make([]string, len(x.p.Rings))
		for i, r := range x.p.Rings {
			known[i] = r.Name
		}
		x.r.AddAt(problem.InvalidRollout, m.KeyPos("ring"), fmt.Sprintf("key %q", at+".ring"), fmt.Sprintf("%q is no ring", name), "one of "+strings.Join(known, ", "), problem.Nearest(name, known)...)
	}
	return name
}

func (x parser) revision(m *yamldoc.MapReader, at string) string {
	text := m.String("revision")
	if len(text) < minRevision {
		x.wrong(m, at, "revision", fmt.Sprintf("%q", text), fmt.Sprintf("a revision, or at least its first %d characters, in quotes", minRevision))
	}
	return text
}

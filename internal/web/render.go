package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/planpage"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/argosy.js
var script string

// assets are the files that pages refer to.
var assets = map[string]struct{ kind, text string }{
	"argosy.css": {"text/css; charset=utf-8", planpage.Stylesheet},
	"argosy.js":  {"text/javascript; charset=utf-8", script},
	"icon.svg":   {"image/svg+xml", planpage.Icon},
}

// page is the data of a template.
type page struct {
	Title     string
	Name      string // of the view
	Freshness Freshness
	// Token is the name of the reader's token, and Restricted says that it does not see all.
	Token      string
	Restricted bool
	Held       int
	Query      url.Values
	JSON       string // the address of the view's JSON
	Model      any

	source   sourceLinks
	revision string
}

// Link returns the address of a place in the repository at the revision of the page; empty for
// none.
func (p page) Link(pos problem.Pos) string { return p.source.of(pos, p.revision) }

// PageLink returns the page's query with another page number.
func (p page) PageLink(number int) string {
	q := url.Values{}
	for k, v := range p.Query {
		q[k] = v
	}
	q.Set("page", strconv.Itoa(number))
	return "?" + q.Encode()
}

// newPage fills in the data of every page.
func (s *Site) newPage(q *request, p page) page {
	p.Freshness, p.Token, p.Query = s.freshness(q.status), q.bearer.Label(), q.Values
	p.Restricted = !q.bearer.SeesEverything()
	p.source, p.revision = s.source, q.status.Revision
	if q.index != nil {
		p.Held = len(hold.Cards(q.holds())) + len(q.status.Stale())
	}
	if w, ok := p.Model.(overview.Why); ok {
		p.revision = w.Explanation.Revision
	}
	return p
}

// page serves a view as HTML.
func (s *Site) page(v view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, model, title, f := s.compute(r, v)
		if f != nil {
			s.writeFailure(w, r, q, f)
			return
		}
		p := s.newPage(q, page{Title: title, Name: v.name, Model: model})
		p.JSON = v.api
		if r.URL.RawQuery != "" {
			p.JSON += "?" + q.Encode()
		}
		s.writePage(w, r, http.StatusOK, v.name, p)
	}
}

// api serves a view as JSON.
func (s *Site) api(v view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, model, _, f := s.compute(r, v)
		if f != nil {
			s.writeFailure(w, r, q, f)
			return
		}
		s.writeJSON(w, r, http.StatusOK, struct {
			APIVersion string    `json:"apiVersion"`
			Kind       string    `json:"kind"`
			Freshness  Freshness `json:"freshness"`
			View       any       `json:"view"`
		}{"argosy.dev/v1alpha1", strings.ToUpper(v.name[:1]) + v.name[1:], s.freshness(q.status), model})
	}
}

// writePage renders a template, completely before the first byte is written.
func (s *Site) writePage(w http.ResponseWriter, r *http.Request, code int, name string, p page) {
	var b bytes.Buffer
	if err := templates[name].ExecuteTemplate(&b, "page", p); err != nil {
		s.o.Logger.Error("page", "page", r.URL.Path, "error", err)
		http.Error(w, "internal error; see the service's log", http.StatusInternalServerError)
		return
	}
	write(w, r, code, "text/html; charset=utf-8", b.Bytes())
}

func (s *Site) writeJSON(w http.ResponseWriter, r *http.Request, code int, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		s.o.Logger.Error("page", "page", r.URL.Path, "error", err)
		code, text = http.StatusInternalServerError, []byte(`{"message": "internal error; see the service's log"}`)
	}
	write(w, r, code, "application/json", append(text, '\n'))
}

// minCompressed is the size from which a response is compressed.
const minCompressed = 1 << 10

// write writes a whole response. No response contains a secret that its compressed size could
// reveal.
func write(w http.ResponseWriter, r *http.Request, code int, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Add("Vary", "Accept-Encoding, Authorization, Cookie")
	if len(body) >= minCompressed && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // a valid level
		_, _ = z.Write(body)                            // into memory
		_ = z.Close()
		h.Set("Content-Encoding", "gzip")
		body = b.Bytes()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// assetVersion changes with the assets, so that browsers may keep them.
var assetVersion = func() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		sum.Write([]byte(assets[name].text))
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}()

// asset serves an embedded file.
func (s *Site) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := assets[r.PathValue("file")]
	if !ok {
		s.writeFailure(w, r, nil, &failure{Code: http.StatusNotFound, Message: "no such file"})
		return
	}
	if r.URL.Query().Get("v") == assetVersion { // an update may change the version
		w.Header().Set("Cache-Control", "public, max-age=86400")
	}
	write(w, r, http.StatusOK, a.kind, []byte(a.text))
}

// templates holds the pages by name, each with the layout.
var templates = func() map[string]*template.Template {
	out := map[string]*template.Template{}
	files, _ := templateFiles.ReadDir("templates")
	for _, f := range files {
		name, _ := strings.CutSuffix(f.Name(), ".html")
		if name != "layout" {
			out[name] = template.Must(template.Must(template.New("layout").Funcs(planpage.Functions).Funcs(functions).Parse(planpage.PlanTemplate)).ParseFS(templateFiles, "templates/layout.html", "templates/"+f.Name()))
		}
	}
	return out
}()

// functions holds the functions of the templates.
var functions = template.FuncMap{
	"asset":    func(name string) string { return "/assets/" + name + "?v=" + assetVersion },
	"keys":     func(path string) []string { return strings.SplitAfter(path, ".") },
	"parts":    func(path string) []string { return strings.SplitAfter(path, "/") },
	"short":    shortRevision,
	"time":     func(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" },
	"rfc":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"value":    valueText,
	"took":     took,
	"weekday":  weekday,
	"words":    func(s string) string { return strings.ReplaceAll(s, "-", " ") },
	"plural":   planpage.Plural,
	"add":      func(a, b int) int { return a + b },
	"minus":    func(a int) int { return -a },
	"settings": settings,
	"query":    query,
	"option":   func(value, chosen string) optionData { return optionData{value, value == chosen} },
	"held":     func(p page, h hold.Hold) heldData { return heldData{h, placeData{h.Position, p.Link(h.Position)}} },
	"place":    func(p page, pos problem.Pos) placeData { return placeData{pos, p.Link(pos)} },
}

type (
	optionData struct {
		Value    string
		Selected bool
	}
	heldData struct {
		Hold  hold.Hold
		Place placeData
	}
	placeData struct {
		Pos  problem.Pos
		Link string
	}
)

// weekday formats a date for people.
func weekday(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return t.Format("Mon 2 Jan")
}

// took formats the time between two moments for people.
func took(from time.Time, to *time.Time) string {
	switch d := to.Sub(from); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
}

// named is a setting of a catalog entry with its key.
type named struct {
	Name    string
	Setting *explain.Setting
}

// settings returns all settings of a component that are set.
func settings(e explain.Explanation) []named {
	all := []named{
		{"enabled", e.Enabled},
		{"selector", e.Selector},
		{"kind", e.Source},
		{"chart.repoURL", e.Chart.RepoURL},
		{"chart.name", e.Chart.Name},
		{"chart.path", e.Chart.Path},
		{"chart.version", e.Chart.Version},
		{"namespace", e.Namespace},
		{"releaseName", e.ReleaseName},
		{"dependsOn", e.DependsOn},
		{"substitute", e.Substitute},
	}
	return slices.DeleteFunc(all, func(n named) bool { return n.Setting == nil })
}

// query makes a query string of names and values; empty values are left out.
func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return "?" + q.Encode()
}

// shortRevision shortens a revision for people.
func shortRevision(s string) string {
	if kind, sum, ok := strings.Cut(s, ":"); ok {
		return kind + ":" + sum[:min(len(sum), 8)]
	}
	return s[:min(len(s), 10)]
}

// maxValue bounds the text of a value in a page.
const maxValue = 400

// valueText formats a value as YAML would write it in one line.
func valueText(v any) string {
	if s, ok := v.(*string); ok {
		if s == nil {
			return ""
		}
		return *s
	}
	if s, ok := v.(string); ok && !looksOtherwise(s) {
		return problem.Truncate(s, maxValue)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return problem.Truncate(string(text), maxValue)
}

// looksOtherwise reports whether YAML would read a text without quotes as another type.
func looksOtherwise(s string) bool {
	var other any
	return s == "" || strings.TrimSpace(s) != s || json.Unmarshal([]byte(s), &other) == nil
}

package access

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Bounds of a tokens file.
const (
	maxTokensFile = 1 << 20
	maxTokens     = 256
	maxFiles      = 8
	// maxSigning bounds the values that a webhook may be signed with, the token file's included:
	// each takes a pass over the body.
	maxSigning = 16
)

// declared is one token of the tokens file.
type declared struct {
	name  string
	files []string
	scope Scope
}

// restrictions are the keys of a token's `allow` beside routes.
var restrictions = []string{"views", "hubs", "groups", "owners", "tenants"}

// parse reads a tokens file. It returns all problems as a problem.List.
func parse(path string, data []byte) ([]declared, error) {
	doc, err := yamldoc.Parse(path, data)
	if err != nil {
		return nil, err
	}
	p := reader{r: yamldoc.NewReader(doc), doc: doc}
	if !doc.Extra.IsZero() {
		p.r.AddAt(problem.MultipleDocuments, doc.Extra, "the tokens file", "a second document", "one document")
	}
	root := p.r.Map(doc.Root, "the tokens file")
	root.Known("apiVersion", "kind", "tokens")
	p.must(root, "apiVersion", "argosy.dev/v1alpha1")
	p.must(root, "kind", "Tokens")
	items := root.List("tokens")
	if len(items) > maxTokens {
		p.r.Add(problem.LimitExceeded, root.Node().Get("tokens"), `key "tokens"`, fmt.Sprintf("%d tokens", len(items)), fmt.Sprintf("at most %d", maxTokens))
		return nil, p.r.Err()
	}
	var out []declared
	names, paths := map[string]problem.Pos{}, map[string]problem.Pos{}
	for i, item := range items {
		m := p.r.Map(item, fmt.Sprintf("token %d", i+1))
		before := len(p.r.Problems())
		m.KnownFunc([]string{"name", "files", "allow"}, func(key string) bool { return p.secret(item, key) })
		if len(p.r.Problems()) > before {
			continue // a missing key may be misspelled
		}
		d := declared{name: p.name(m, names), files: p.files(m, paths)}
		d.scope = p.scope(m, d.name)
		out = append(out, d)
	}
	if err := p.r.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

type reader struct {
	r   *yamldoc.Reader
	doc *yamldoc.Doc
}

// must demands a key with a value; yamldoc's Const accepts a missing key.
func (p reader) must(m *yamldoc.MapReader, key, want string) {
	if !m.Has(key) {
		p.r.Add(problem.InvalidValue, m.Node(), fmt.Sprintf("key %q", key), "missing", fmt.Sprintf("%q", want))
		return
	}
	m.Const(key, want)
}

// secret reports a token that has been written into the tokens file, without repeating it.
func (p reader) secret(item *yamldoc.Node, key string) bool {
	if key != "token" && key != "value" && key != "secret" && key != "password" {
		return false
	}
	p.r.AddAt(problem.InvalidValue, item.KeyPos(key), fmt.Sprintf("key %q", key), "a token in the tokens file, which is no secret",
		"files: a list of files below --tokens-dir that hold it")
	return true
}

func (p reader) name(m *yamldoc.MapReader, seen map[string]problem.Pos) string {
	name := m.String("name")
	first, dup := seen[name]
	switch {
	case !labels.IsName(name) || name == fullLabel:
		p.r.Add(problem.InvalidValue, m.Node(), `key "name"`, fmt.Sprintf("%q", cut(name)), "a DNS-1123 label other than "+fullLabel+", by which log and errors call the token")
	case dup:
		p.r.Add(problem.DuplicateName, m.Node(), fmt.Sprintf("token %q", name), "listed twice, first at "+first.String(), "each name once")
	default:
		seen[name] = p.doc.Pos(m.Node())
	}
	return name
}

// files are paths inside the tokens folder.
func (p reader) files(m *yamldoc.MapReader, seen map[string]problem.Pos) []string {
	items := m.List("files")
	if len(items) == 0 || len(items) > maxFiles {
		p.r.AddAt(problem.InvalidValue, m.KeyPos("files"), `key "files"`, fmt.Sprintf("%d files", len(items)),
			fmt.Sprintf("1 to %d files below --tokens-dir; the token is what any of them holds", maxFiles))
		return nil
	}
	var out []string
	for _, item := range items {
		path := ""
		if item.Kind == yamldoc.String {
			path = item.Text()
		}
		clean := filepath.ToSlash(filepath.Clean(path))
		if path == "" || !filepath.IsLocal(path) || clean != path || path == "." {
			p.r.Add(problem.InvalidValue, item, `key "files"`, fmt.Sprintf("%q", cut(path)), "a path inside --tokens-dir, such as payments/token")
			continue
		}
		if first, dup := seen[path]; dup {
			p.r.Add(problem.InvalidValue, item, fmt.Sprintf("file %q", path), "listed twice, first at "+first.String(), "each file once: two tokens cannot be the same")
			continue
		}
		seen[path] = p.doc.Pos(item)
		out = append(out, path)
	}
	return out
}

// scope reads what a token may query (rule 3).
func (p reader) scope(m *yamldoc.MapReader, token string) (s Scope) {
	allow := m.Map("allow")
	allow.Known(append([]string{"routes", "base"}, restrictions...)...)
	s.NoBase = !allow.Bool("base", true)
	where := fmt.Sprintf("token %q", token)
	s.Routes = p.words(allow, "routes", Routes)
	if s.Routes == nil {
		p.r.Add(problem.InvalidValue, m.Node(), where, "no allow.routes", "at least one of "+strings.Join(Routes, ", "))
		return s
	}
	s.Views = p.words(allow, "views", query.Views)
	s.Hubs, s.Groups = p.words(allow, "hubs", nil), p.words(allow, "groups", nil)
	s.Owners, s.Tenants = p.words(allow, "owners", nil), p.words(allow, "tenants", nil)
	asks := slices.Contains(s.Routes, GetParams) || slices.Contains(s.Routes, FluxInputs)
	contradiction := func(key, found, expected string) {
		p.r.AddAt(problem.InvalidValue, allow.KeyPos(key), where, found, expected)
	}
	for _, key := range restrictions {
		if allow.Has(key) && slices.Equal(s.Routes, []string{Webhook}) {
			contradiction(key, key+" with the route webhook alone, which asks for nothing", "no "+key)
		}
	}
	if allow.Has("base") && !slices.Contains(s.Routes, GetParams) {
		contradiction("base", "base without the route getparams, which has it", "the route getparams, or no base")
	}
	if s.Views != nil && !asks && !slices.Equal(s.Routes, []string{Webhook}) {
		contradiction("views", "views without a route that has them", "the route getparams or flux-inputs, or no views")
	}
	if s.Groups == nil {
		return s
	}
	for _, route := range []string{FleetRoute, Registry} {
		if slices.Contains(s.Routes, route) {
			contradiction("groups", "groups with the route "+route+", which tells of all groups", "another route, or no groups")
		}
	}
	for _, view := range []query.View{query.Members, query.Agents, query.Grants} {
		if slices.Contains(s.Views, string(view)) {
			contradiction("groups", fmt.Sprintf("groups with the view %s, which tells of all groups", view), "the views releases and components, or no groups")
		}
	}
	return s
}

// words reads a list of texts, each one of known unless that is nil; nil if the key is absent.
func (p reader) words(m *yamldoc.MapReader, key string, known []string) []string {
	if m.Node().Get(key) == nil { // absent; null is no list of words
		return nil
	}
	subject := fmt.Sprintf("key %q", key)
	out, items := []string{}, m.List(key)
	for _, item := range items {
		if item.Kind != yamldoc.String || item.Text() == "" {
			p.r.Add(problem.InvalidValue, item, subject, "an element that is no text", "a list of texts")
			continue
		}
		if known != nil && !slices.Contains(known, item.Text()) {
			p.r.Add(problem.InvalidValue, item, subject, fmt.Sprintf("%q", cut(item.Text())), "one of "+strings.Join(known, ", "), problem.Nearest(item.Text(), known)...)
			continue
		}
		if slices.Contains(out, item.Text()) {
			p.r.Add(problem.InvalidValue, item, subject, fmt.Sprintf("%q twice", cut(item.Text())), "each once")
			continue
		}
		out = append(out, item.Text())
	}
	if kind := m.Node().Get(key).Kind; len(items) == 0 && (kind == yamldoc.List || kind == yamldoc.Null) {
		p.r.AddAt(problem.InvalidValue, m.KeyPos(key), subject, "nothing that is allowed", "at least one; leave the key out to allow all")
	}
	return out
}

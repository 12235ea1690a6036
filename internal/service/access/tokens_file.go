package access

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Bounds of a tokens file.
const (
	maxTokensFile = 1 << 20
	// maxSigning bounds the values that a webhook may be signed with, the token file's included:
	// each takes a pass over the body.
	maxSigning = 16
)

// document is the content of a tokens file.
type document struct {
	APIVersion string     `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string     `json:"kind" jsonschema:"enum=Tokens"`
	Tokens     []declared `json:"tokens,omitempty" jsonschema:"maxItems=256"`
}

// declared is one token of the tokens file.
type declared struct {
	Name  string   `json:"name" is:"name" expect:"the name by which log and errors call the token"`
	Files []string `json:"files" is:"quoted" jsonschema:"maxItems=8" expect:"files below --tokens-dir; the token is what any of them holds"`
	Scope Scope    `json:"allow" expect:"what the token may ask for"`
}

// restrictions are the keys of a token's `allow` beside routes.
var restrictions = []string{"views", "hubs", "groups", "owners", "tenants"}

// parse reads a tokens file. It returns all problems as a problem.List.
func parse(path string, data []byte) ([]declared, error) {
	doc, err := yamldoc.Parse(path, data)
	if err != nil {
		return nil, err
	}
	r := yamldoc.NewReader(doc)
	if !doc.Extra.IsZero() {
		r.AddAt(problem.MultipleDocuments, doc.Extra, "the tokens file", "a second document", "one document")
	}
	var d document
	r.Decode(doc.Root, "the tokens file", problem.InvalidValue, &d)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return d.Tokens, nil
}

// Check finds duplicate names and files: two tokens cannot be the same.
func (d *document) Check(at yamldoc.At) {
	names, files := map[string]problem.Pos{}, map[string]problem.Pos{}
	for i, t := range d.Tokens {
		token := at.Item("tokens", i)
		if first, dup := names[t.Name]; dup {
			token.Add(problem.DuplicateName, token.Node, fmt.Sprintf("token %q", t.Name), "listed twice, first at "+first.String(), "each name once")
		}
		names[t.Name] = token.Pos("name")
		for _, n := range token.Node.Get("files").Items() {
			if first, dup := files[n.Text()]; dup && n.Text() != "" {
				token.Add(problem.InvalidValue, n, fmt.Sprintf("file %q", n.Text()), "listed twice, first at "+first.String(), "each file once: two tokens cannot be the same")
			}
			files[n.Text()] = n.Pos()
		}
	}
}

// Check checks the name and that the files are paths inside the tokens folder. It refuses a token
// that has been written into the tokens file, without repeating it.
func (d *declared) Check(at yamldoc.At) {
	if d.Name == fullLabel {
		at.Wrong("name", fmt.Sprintf("%q", d.Name), "a name other than the token file's")
	}
	for _, key := range []string{"token", "value", "secret", "password"} {
		if at.Has(key) {
			at.AddAt(problem.InvalidValue, at.Pos(key), fmt.Sprintf("key %q", key), "a token in the tokens file, which is not a secret", "files: a list of files below --tokens-dir that hold it")
		}
	}
	for _, path := range d.Files {
		if clean := filepath.ToSlash(filepath.Clean(path)); !filepath.IsLocal(path) || clean != path || path == "." {
			at.Wrong("files", fmt.Sprintf("%q", cut(path)), "a path inside --tokens-dir, such as payments/token")
		}
	}
}

// Check checks that a scope does not contradict itself.
func (s *Scope) Check(at yamldoc.At) {
	for _, key := range restrictions {
		if n := at.Node.Get(key); n != nil && (n.IsNull() || n.Kind == yamldoc.List && len(n.Items()) == 0) { // null is not a list of words
			at.Wrong(key, "nothing that is allowed", "at least one; leave the key out to allow all")
		}
	}
	s.NoBase = s.Base != nil && !*s.Base
	asks := slices.Contains(s.Routes, GetParams) || slices.Contains(s.Routes, FluxInputs)
	isWebhook := slices.Equal(s.Routes, []string{Webhook})
	for _, key := range restrictions {
		if at.Has(key) && isWebhook {
			at.Wrong(key, "with only the route webhook, which asks for nothing", "no "+key)
		}
	}
	if s.Base != nil && !slices.Contains(s.Routes, GetParams) {
		at.Wrong("base", "without the route getparams, which has it", "the route getparams, or no base")
	}
	if s.Views != nil && !asks && !isWebhook {
		at.Wrong("views", "without a route that has them", "the route getparams or flux-inputs, or no views")
	}
	if s.Groups == nil {
		return
	}
	for _, route := range []string{FleetRoute, Registry} {
		if slices.Contains(s.Routes, route) {
			at.Wrong("groups", "with the route "+route+", which tells of all groups", "another route, or no groups")
		}
	}
	for _, view := range []query.View{query.Members, query.Agents, query.Grants} {
		if slices.Contains(s.Views, string(view)) {
			at.Wrong("groups", fmt.Sprintf("with the view %s, which tells of all groups", view), "the views releases and components, or no groups")
		}
	}
}

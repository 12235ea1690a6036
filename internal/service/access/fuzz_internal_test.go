package access

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// FuzzTokens: no tokens file makes the reader panic; of one that is accepted each token has a name
// and files of its own, inside the folder, and routes that there are; one that is not is reported
// with a place (rules 3 and 6).
func FuzzTokens(f *testing.F) {
	const head = "apiVersion: argosy.dev/v1alpha1\nkind: Tokens\n"
	for _, s := range []string{
		"", head, head + "tokens: [{name: a, files: [a/token], allow: {routes: [getparams], views: [members], tenants: [t]}}]\n",
		head + "tokens: [{name: a, files: [../x], allow: {}}, {name: a, token: secret}]\n", head + "tokens: [{name: token-file, files: a}]\n",
		head + "tokens: [{name: a, files: [x, x/../y, /z, '.'], allow: {routes: [webhook], groups: []}}]\n", head + "tokens: {a: b}\n---\nx\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := parse("tokens.yaml", []byte(text))
		if err != nil {
			for _, p := range problem.From(err, "", problem.Pos{}) {
				if p.Reason == "" || p.Pos.File != "tokens.yaml" {
					t.Fatalf("%q: %#v", text, p)
				}
			}
			return
		}
		names, files := map[string]bool{}, map[string]bool{}
		for _, d := range tokens {
			if d.Name == "" || d.Name == fullLabel || names[d.Name] || len(d.Files) == 0 || len(d.Scope.Routes) == 0 {
				t.Fatalf("%q is accepted: %+v", text, d)
			}
			names[d.Name] = true
			for _, route := range d.Scope.Routes {
				if !slices.Contains(Routes, route) {
					t.Fatalf("%q is accepted: route %q", text, route)
				}
			}
			for _, file := range d.Files {
				if !filepath.IsLocal(file) || filepath.Clean(file) != file || files[file] {
					t.Fatalf("%q is accepted: file %q", text, file)
				}
				files[file] = true
			}
		}
	})
}

package access_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	first  = "correct-horse-battery-staple"
	second = "another-horse-another-staple"
	third  = "yet-one-more-horse-to-staple"
)

// world is a token file, a tokens file and a tokens folder.
type world struct {
	*testing.T
	dir string
	log *strings.Builder
	o   access.Options
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), log: &strings.Builder{}}
	w.o = access.Options{
		TokenFile: filepath.Join(w.dir, "token"), TokensFile: filepath.Join(w.dir, "tokens.yaml"), TokensDir: filepath.Join(w.dir, "tokens"),
		Reload: -1, Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	w.write("token", "full-access-token-of-the-file\n")
	return w
}

func (w *world) write(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	require.NoError(w, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(w, os.WriteFile(path, []byte(text), 0o600))
}

func (w *world) remove(name string) {
	w.Helper()
	require.NoError(w, os.Remove(filepath.Join(w.dir, filepath.FromSlash(name))))
}

func (w *world) open() *access.Tokens {
	w.Helper()
	tokens, err := access.Open(w.o)
	require.NoError(w, err)
	return tokens
}

const head = "apiVersion: argosy.dev/v1alpha1\nkind: Tokens\ntokens:\n"

// entry is a token with one file and the route getparams; more is appended to allow.
func entry(name, file string, more ...string) string {
	return "- name: " + name + "\n  files: [" + file + "]\n  allow: {routes: [getparams]" + strings.Join(append([]string{""}, more...), ", ") + "}\n"
}

// Rules 3, 5 and 6: what is wrong is refused at the start, with its place, and never with a token
// in the text.
func TestTokensFileIsStrict(t *testing.T) {
	t.Parallel()
	const leak = "s3cret-s3cret-s3cret"
	for _, c := range []struct{ what, text, want string }{
		{"empty", "", `key "apiVersion": missing or empty; expected "argosy.dev/v1alpha1" (and 1 more)`},
		{"no YAML", "a: [\n", `tokens.yaml`},
		{"version", "apiVersion: v1\nkind: Tokens\n", `1:13: key "apiVersion": "v1"; expected "argosy.dev/v1alpha1"`},
		{"kind", "apiVersion: argosy.dev/v1alpha1\nkind: Token\n", `2:7: key "kind": "Token"; expected "Tokens"`},
		{"two documents", head + entry("a", "a") + "---\n" + head, `a second document; expected one document`},
		{"unknown key", head + entry("a", "a") + "token: x\n", `key "token": not known in the tokens file`},
		{"unknown key of a token", head + "- {name: a, file: [a], allow: {routes: [getparams]}}\n", `key "file": not known in tokens[0]; did you mean "files"?`},
		{"unknown key of allow", head + entry("a", "a", "tenant: [x]"), `key "tenant": not known`},
		{
			"token", head + "- {name: a, token: " + leak + ", allow: {routes: [getparams]}}\n",
			`4:13: key "token": a token in the tokens file, which is not a secret; expected files: a list of files below --tokens-dir that hold it`,
		},
		{"no name", head + "- {files: [a], allow: {routes: [getparams]}}\n", `4:3: key "tokens[0].name": missing or empty`},
		{"bad name", head + entry("A_b", "a"), `key "tokens[0].name": "A_b" is not a DNS-1123 label`},
		{"taken name", head + entry("token-file", "a"), `key "tokens[0].name": "token-file"; expected a name other than the token file's`},
		{"name twice", head + entry("a", "a") + entry("a", "b"), `7:3: token "a": listed twice, first at `},
		{"no files", head + "- {name: a, allow: {routes: [getparams]}}\n", `key "tokens[0].files": missing or empty; expected files below --tokens-dir`},
		{"nine files", head + entry("a", "a, b, c, d, e, f, g, h, i"), `key "tokens[0].files": 9 elements; expected at most 8`},
		{"leaves", head + entry("a", "../token"), `key "tokens[0].files": "../token"; expected a path inside --tokens-dir`},
		{"leaves inside", head + entry("a", "x/../../token"), `expected a path inside --tokens-dir`},
		{"absolute", head + entry("a", "/etc/passwd"), `key "tokens[0].files": "/etc/passwd"; expected a path inside --tokens-dir`},
		{"no text", head + entry("a", "[b]"), `key "tokens[0].files[0]": is a list; expected text`},
		{"file twice", head + entry("a", "a") + entry("b", "a"), `file "a": listed twice, first at `},
		{"no allow", head + "- {name: a, files: [a]}\n", `key "tokens[0].allow": missing or empty`},
		{"no routes", head + "- {name: a, files: [a], allow: {views: [members]}}\n", `key "tokens[0].allow.routes": missing or empty`},
		{"empty routes", head + "- {name: a, files: [a], allow: {routes: []}}\n", `key "tokens[0].allow.routes": missing or empty; expected one of getparams`},
		{"null tenants", head + entry("a", "a", "tenants: null"), `key "tokens[0].allow.tenants": nothing that is allowed; expected at least one`},
		{"route", head + "- {name: a, files: [a], allow: {routes: [getparam]}}\n", `key "tokens[0].allow.routes[0]": "getparam"; expected one of getparams`},
		{"view", head + entry("a", "a", "views: [component]"), `key "tokens[0].allow.views[0]": "component"; expected one of agents, components, grants, members, releases; did you mean "components"?`},
		{"no list", head + entry("a", "a", "hubs: hub-1"), `hubs`},
		{"no word", head + entry("a", "a", "hubs: [1]"), `key "tokens[0].allow.hubs[0]": is a number; expected text`},
		{"word twice", head + entry("a", "a", "hubs: [x, x]"), `key "tokens[0].allow.hubs[1]": "x" is given again; expected each once`},
		{"groups with fleet", head + "- {name: a, files: [a], allow: {routes: [getparams, fleet], groups: [addons]}}\n", `key "tokens[0].allow.groups": with the route fleet, which tells of all groups`},
		{"groups with registry", head + "- {name: a, files: [a], allow: {routes: [registry], groups: [addons]}}\n", `key "tokens[0].allow.groups": with the route registry, which tells of all groups`},
		{"groups with agents", head + entry("a", "a", "groups: [addons]", "views: [agents]"), `key "tokens[0].allow.groups": with the view agents, which tells of all groups`},
		{"webhook with hubs", head + "- {name: a, files: [a], allow: {routes: [webhook], hubs: [x]}}\n", `key "tokens[0].allow.hubs": with only the route webhook, which asks for nothing; expected no hubs`},
		{"views without a route", head + "- {name: a, files: [a], allow: {routes: [explain], views: [members]}}\n", `key "tokens[0].allow.views": without a route that has them`},
		{"reference", head + entry("a", "reference"), `token "a": file "reference": it begins with "$", a reference to a Secret's key`},
		{"short", head + entry("a", "short"), `token "a": file "short": it can be guessed: 15 characters of their kind have at most 75 bits; expected at least 128 bits, as openssl rand -hex 16 makes them`},
		{"empty file", head + entry("a", "empty"), `token "a": file "empty": it is empty`},
		{"two lines", head + entry("a", "lines"), `token "a": file "lines": a token is one line of ASCII characters`},
		{"folder", head + entry("a", "folder"), `token "a": file "folder": it is no file`},
		{"link out", head + entry("a", "out"), `token "a": file "out": path escapes from parent`},
		{"same value", head + entry("a", "a") + entry("b", "same"), `tokens "a" and "b" have the same value`},
		{"the token file's", head + entry("a", "full"), `token "a" has a value that the token file has too`},
		{"large", head + "# " + strings.Repeat("x", 1<<20) + "\n", `larger than 1048576 bytes`},
		{"many", head + strings.Repeat("- {}\n", 257), `key "tokens": 257 elements; expected at most 256`},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write("tokens.yaml", c.text)
			for name, text := range map[string]string{
				"a": first, "same": first + "\n", "b": second, "reference": "$argosy:" + leak, "short": "fifteen-letters", "empty": "\n",
				"lines": leak + "\nb", "folder/x": third, "full": "full-access-token-of-the-file",
			} {
				w.write("tokens/"+name, text)
			}
			require.NoError(t, os.Symlink("../token", filepath.Join(w.dir, "tokens", "out")))
			_, err := access.Open(w.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			for _, s := range []string{leak, first, "fifteen-letters", "full-access"} {
				if strings.Contains(err.Error()+w.log.String(), s) {
					t.Errorf("%s is logged: %v %s", s, err, w.log)
				}
			}
		})
	}
	w := newWorld(t)
	if _, err := access.Open(w.o); err == nil || !strings.Contains(err.Error(), `tokens.yaml": no such file or directory`) {
		t.Errorf("no tokens file: %v", err)
	}
	w.write("tokens.yaml", head+entry("a", "a"))
	if _, err := access.Open(w.o); err == nil || !strings.Contains(err.Error(), `tokens folder `) {
		t.Errorf("no tokens folder: %v", err)
	}
}

// Rule 5: values come and go with their files; rule 6: what is bad changes nothing.
func TestTokensRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("tokens.yaml", head+entry("a", "a/token, a/next")+entry("b", "b/token"))
	w.write("tokens/a/token", first)
	tokens := w.open() // b has no value yet
	names := func() string {
		out := ""
		for _, v := range []string{first, second, third} {
			if b := tokens.Find(v); b != nil {
				out += b.Label()
			} else {
				out += "-"
			}
		}
		return out
	}
	step := func(what, want string, problems int) {
		t.Helper()
		if got := names(); got != want || len(tokens.Problems()) != problems {
			t.Errorf("%s: got %s, want %s; problems %q, want %d", what, got, want, tokens.Problems(), problems)
		}
	}
	step("the start", "a--", 1)
	w.write("tokens/b/token", third)
	step("b's Secret comes", "a-b", 0)
	w.write("tokens/a/next", second+"\r\n")
	step("the next value is there as well", "aab", 0)
	w.remove("tokens/a/token")
	step("the old one is gone", "-ab", 0)
	for what, bad := range map[string]string{"empty": "", "reference": "$x", "short": "short", "lines": "a\nb"} {
		w.write("tokens/a/next", bad)
		step(what, "-ab", 1)
	}
	w.write("tokens/a/next", third) // what b has
	step("b's value for a", "--b", 1)
	w.write("tokens/a/next", second)
	step("fixed", "-ab", 0)

	for what, bad := range map[string]string{"no YAML": "a: [", "unknown key": head + entry("a", "a/next", "tenant: [x]"), "empty": ""} {
		w.write("tokens.yaml", bad)
		step(what, "-ab", 1)
	}
	w.remove("tokens.yaml")
	step("no tokens file", "-ab", 1)
	w.write("tokens.yaml", head+entry("b", "b/token"))
	step("a is not declared any more", "--b", 0)
	require.NoError(t, os.Rename(filepath.Join(w.dir, "tokens"), filepath.Join(w.dir, "away")))
	step("the folder cannot be seen", "--b", 1)
	w.write("tokens.yaml", head+entry("c", "b/token"))
	step("and the file belongs to another token", "--c", 1)
	require.NoError(t, os.Rename(filepath.Join(w.dir, "away"), filepath.Join(w.dir, "tokens")))
	w.write("token", third) // the token file wins, as it always did
	if b := tokens.Find(third); b.Label() != "token-file" {
		t.Errorf("got %q", b.Label())
	}
	for _, s := range []string{first, second, third, "full-access"} {
		if strings.Contains(w.log.String(), s) {
			t.Errorf("%s is in the log:\n%s", s, w.log)
		}
	}
	for _, want := range []string{"a token has no value", `msg="values of a token have changed" token=a`, "tokens are as their files say again", "tokens file has been read again"} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, w.log)
		}
	}
}

// A value that two tokens get at once is good for neither.
func TestTokensOfTwoAreNobodys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("tokens.yaml", head+entry("a", "a")+entry("b", "b"))
	w.write("tokens/a", first)
	w.write("tokens/b", second)
	tokens := w.open()
	w.write("tokens/a", third)
	w.write("tokens/b", third)
	if b := tokens.Find(third); b != nil {
		t.Errorf("it is good for %s", b.Label())
	}
	if p := tokens.Problems(); len(p) != 1 || p[0] != `tokens "a" and "b" have the same value` {
		t.Errorf("%q", p)
	}
}

// Kubernetes mounts a Secret as links to a folder that it swaps.
func TestTokensOfAMountedSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("tokens.yaml", head+entry("a", "a/token"))
	w.write("tokens/a/..1/token", first)
	w.write("tokens/a/..2/token", second)
	link := func(to, name string) {
		t.Helper()
		path := filepath.Join(w.dir, "tokens", "a", name)
		require.NoError(t, os.Symlink(to, path+".new"))
		require.NoError(t, os.Rename(path+".new", path))
	}
	link("..1", "..data")
	link("..data/token", "token")
	tokens := w.open()
	if tokens.Find(first) == nil || tokens.Find(second) != nil {
		t.Error("before")
	}
	link("..2", "..data")
	if tokens.Find(first) != nil || tokens.Find(second) == nil {
		t.Error("after")
	}
}

// A token of fewer than 128 bits, by its length and its kind of characters, is refused with the way
// to make one; what openssl, base64 and this project's charts make is accepted.
func TestTokensHave128Bits(t *testing.T) {
	t.Parallel()
	for token, good := range map[string]bool{
		"short": false, "correct-horse-battery": false, "sixteen-letters-": false, "password-password-password-password": true,
		"0123456789abcdef0123456789abcde": false, "0123456789abcdef0123456789abcdef": true, "0123456789ABCDEF0123456789ABCDEF": true,
		"abcdefghijklmnop2345672": false, "ABCDEFGHIJKLMNOPQRSTUVWXYZ": true, "hook-secret-0123456789abcdef": true,
		"aB3dE6gH9jK2mN5pQ8sT1": false, "aB3dE6gH9jK2mN5pQ8sT1v": true, "AAECAwQFBgcICQoLDA0ODw==": true,
		"01234567890123456789012345678901234567": false, "012345678901234567890123456789012345678": true,
		strings.Repeat("ab", 40): false, strings.Repeat("x", 400): false,
	} {
		w := newWorld(t)
		w.o.TokensFile, w.o.TokensDir = "", ""
		w.write("token", token+"\n")
		tokens, err := access.Open(w.o)
		switch {
		case good && (err != nil || tokens.Find(token).Label() != "token-file"):
			t.Errorf("%s: %v", token, err)
		case !good && (err == nil || !strings.Contains(err.Error(), "expected at least 128 bits, as openssl rand -hex 16 makes them") || strings.Contains(err.Error(), token)):
			t.Errorf("%s: %v", token, err)
		}
	}
}

// H10: each value that a signature may have been made with takes a pass over the webhook's body, so
// there are few.
func TestFewTokensSignWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := head
	for i := range 16 {
		name := fmt.Sprintf("forge-%d", i)
		text += "- {name: " + name + ", files: [" + name + "], allow: {routes: [webhook]}}\n"
		if i < 15 {
			w.write("tokens/"+name, "the-value-of-the-token-"+name)
		}
	}
	w.write("tokens.yaml", text)
	tokens := w.open()
	if secrets, bearers := tokens.Signing(); len(secrets) != 16 || len(bearers) != 16 {
		t.Errorf("%d values sign, with the token file's", len(secrets))
	}
	w.write("tokens/forge-15", "the-value-of-the-token-forge-15")
	if secrets, _ := tokens.Signing(); len(secrets) != 16 {
		t.Errorf("%d values sign", len(secrets))
	}
	want := `token "forge-15": more than 15 values are good for the route webhook`
	if p := tokens.Problems(); len(p) != 1 || p[0] != want {
		t.Errorf("got %q, want %s", p, want)
	}
}

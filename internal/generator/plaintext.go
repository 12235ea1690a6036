package generator

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// allowPlaintext is the comment, behind a value or in the line above, that says it is no secret.
const allowPlaintext = "argosy:allow plaintext-secret"

// secretKeys are what the names of keys with secrets end in, lower case and without - and _. Names that say where a
// secret is (passwordSecretName, tokenRef, privateKeyFile) end in something else.
var secretKeys = []string{
	"password", "passwd", "passphrase", "token", "secretkey", "privatekey", "apikey", "clientsecret", "secretaccesskey", "accesskeysecret", "webhooksecret", "signingkey", "encryptionkey",
}

// secretFormats are texts that are a secret under whatever key.
var secretFormats = []struct {
	what string
	re   *regexp.Regexp
}{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----`)},
	{"an AWS access key ID", regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{"a GitHub token", regexp.MustCompile(`\b(gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22})`)},
	{"a GitLab token", regexp.MustCompile(`\bgl(pat|dt|rt|ptt)-[A-Za-z0-9_-]{20}`)},
	{"a Slack token", regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10}`)},
	{"a JSON web token", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8}`)},
	{"a password in a URL", regexp.MustCompile(`://[^/\s:@{}$]+:[^/\s@{}$]+@`)},
}

// noSecret is a value that stands for one: a template or variable that is filled in later, a file, a reference to a
// store, a placeholder, or a switch.
var noSecret = regexp.MustCompile(`^(.*(\{\{|\$[({A-Za-z]).*|/.*|\./.*|<.*>|\*+|arn:.*|ref\+.*|vault:.*|(?i)(true|false|none|null|default|disabled|auto|redacted))$`)

// plaintext reports what looks like a secret in files that everybody with the repository can read. It goes by keys and
// by formats; how random a text looks says too little (a digest of an image is as random as a key). The value is never
// repeated.
func (l *linter) plaintext() {
	for _, p := range slices.Sorted(maps.Keys(l.reachable)) {
		file := l.st.Resolver().Snapshot.File(p)
		if file == nil || file.Err != nil {
			continue
		}
		s := secretScan{file: file, seen: map[*yamldoc.Node]bool{}}
		if strings.HasSuffix(p, hierarchy.TemplateSuffix) {
			s.template()
		} else if doc, err := l.st.Resolver().Documents.Doc(file); err == nil {
			s.node("", doc.Root)
		}
		l.problems = append(l.problems, problem.Cut(s.problems, problem.OfFile)...)
	}
}

// secretScan is the search of one file.
type secretScan struct {
	file     *snapshot.File
	lines    [][]byte               // when they are needed
	seen     map[*yamldoc.Node]bool // aliases share nodes
	problems []problem.Problem
}

// template looks for formats in a template's text: its keys are not known before it is executed.
func (s *secretScan) template() {
	for i, line := range s.text() {
		for _, f := range secretFormats {
			if f.re.Match(line) {
				s.report(i+1, 0, "template", f.what)
				break
			}
		}
	}
}

func (s *secretScan) node(key string, n *yamldoc.Node) {
	if s.seen[n] {
		return
	}
	s.seen[n] = true
	switch n.Kind {
	case yamldoc.Map:
		for _, f := range n.Fields {
			if f.Value.Kind == yamldoc.String && isSecretKey(n, f.Key) && !noSecret.MatchString(f.Value.Text) && f.Value.Text != "" {
				s.seen[f.Value] = true
				s.report(int(f.Value.Line), int(f.Value.Column), fmt.Sprintf("key %q", f.Key), "a secret by its name")
				continue
			}
			s.node(f.Key, f.Value)
		}
	case yamldoc.List:
		for _, item := range n.Items {
			s.node(key, item)
		}
	case yamldoc.String:
		for _, f := range secretFormats {
			if f.re.MatchString(n.Text) {
				subject := "value"
				if key != "" {
					subject = fmt.Sprintf("key %q", key)
				}
				s.report(int(n.Line), int(n.Column), subject, f.what)
				break
			}
		}
	}
}

// LooksSecret says what a text looks like that holds a secret, by the name of its key or by its format; empty for any other.
func LooksSecret(key, value string) string {
	if _, name, found := strings.Cut(key, "/"); found {
		key = name
	}
	if value != "" && !noSecret.MatchString(value) && isSecretKey(nil, key) {
		return "a secret by its name"
	}
	for _, f := range secretFormats {
		if f.re.MatchString(value) {
			return f.what
		}
	}
	return ""
}

var separators = strings.NewReplacer("-", "", "_", "")

// isSecretKey goes by the key's name. Where a secret is taken from a store, secretKey is the name of a key there.
func isSecretKey(in *yamldoc.Node, key string) bool {
	name := strings.ToLower(separators.Replace(key))
	if !slices.ContainsFunc(secretKeys, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) {
		return false
	}
	return in.Get("remoteRef") == nil && in.Get("secretName") == nil && in.Get("existingSecret").IsNull()
}

func (s *secretScan) report(line, column int, subject, what string) {
	if s.allowed(line) || s.allowed(line-1) {
		return
	}
	s.problems = append(s.problems, problem.Problem{
		Reason: problem.PlaintextSecret, Severity: problem.Warning, Pos: problem.Pos{File: s.file.Path, Line: line, Column: column},
		Subject: subject, Found: "holds, in plain text, what looks like " + what, Expected: "the name of a Secret, or of a secret in the store",
		Hints: []string{"if it is none, say so: # " + allowPlaintext},
	})
}

// text are the file's lines.
func (s *secretScan) text() [][]byte {
	if s.lines == nil {
		s.lines = bytes.Split(s.file.Data, []byte("\n"))
	}
	return s.lines
}

// allowed reports whether a line carries the comment.
func (s *secretScan) allowed(line int) bool {
	lines := s.text()
	if line < 1 || line > len(lines) {
		return false
	}
	_, comment, found := bytes.Cut(lines[line-1], []byte("# "+allowPlaintext))
	return found && (len(comment) == 0 || comment[0] == ' ' || comment[0] == '\r' || comment[0] == ',')
}

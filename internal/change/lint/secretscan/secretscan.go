// Package secretscan finds secrets in plain text, in files that everyone with the repository can
// read.
//
//	problems := secretscan.Document(file, root)
//	kind := secretscan.Classify("db-password", "correct horse") // "a secret by its name"
//
// It goes by the names of keys and by formats. How random a text looks says too little: the digest
// of an image is as random as a key. A finding never repeats the value. The comment "argosy:allow
// plaintext-secret", behind a value or in the line above, allows it.
package secretscan

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// allowPlaintext is the comment that allows a value.
const allowPlaintext = "argosy:allow plaintext-secret"

// secretKeys are suffixes of the names of keys that hold secrets, in lower case and without - and
// _. Names that say where a secret is (passwordSecretName, tokenRef, privateKeyFile) end in
// something else.
var secretKeys = []string{
	"password", "passwd", "passphrase", "token", "secretkey", "privatekey", "apikey", "clientsecret",
	"secretaccesskey", "accesskeysecret", "webhooksecret", "signingkey", "encryptionkey",
}

// secretFormats lists the formats of texts that are secrets under any key.
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

// noSecret matches values that stand for a secret: a template or variable that is filled in later,
// a file, a reference to a store, a placeholder, or a switch.
var noSecret = regexp.MustCompile(`^(.*(\{\{|\$[({A-Za-z]).*|/.*|\./.*|<.*>|\*+|arn:.*|ref\+.*|vault:.*|(?i)(true|false|none|null|default|disabled|auto|redacted))$`)

// Document reports the secrets in a YAML file with the given root.
func Document(file *snapshot.File, root *yamldoc.Node) []problem.Problem {
	s := scan{file: file, seen: map[*yamldoc.Node]bool{}}
	s.node("", root)
	return s.problems
}

// Template reports the secrets in a template, only by format: its keys are unknown until it is
// executed.
func Template(file *snapshot.File) []problem.Problem {
	s := scan{file: file}
	for i, line := range s.text() {
		if what := format(string(line)); what != "" {
			s.report(i+1, 0, "template", what)
		}
	}
	return s.problems
}

// Classify names the kind of secret that a text looks like, by the name of its key or by its
// format. It is empty for any other text.
func Classify(key, value string) string {
	if _, name, found := strings.Cut(key, "/"); found {
		key = name
	}
	if value != "" && !noSecret.MatchString(value) && isSecretKey(nil, key) {
		return byName
	}
	return format(value)
}

// byName is the kind of a secret that only its key reveals.
const byName = "a secret by its name"

// format names the format of a secret that a text contains, empty if there is none.
func format(text string) string {
	for _, f := range secretFormats {
		if f.re.MatchString(text) {
			return f.what
		}
	}
	return ""
}

// scan is the search of one file.
type scan struct {
	file     *snapshot.File
	lines    [][]byte               // read when they are needed
	seen     map[*yamldoc.Node]bool // aliases share nodes
	problems []problem.Problem
}

func (s *scan) node(key string, n *yamldoc.Node) {
	if s.seen[n] {
		return
	}
	s.seen[n] = true
	switch n.Kind {
	case yamldoc.Map:
		for _, f := range n.Fields() {
			text := f.Value.Text()
			if f.Value.Kind == yamldoc.String && text != "" && isSecretKey(n, f.Key) && !noSecret.MatchString(text) {
				s.seen[f.Value] = true
				s.report(int(f.Value.Line), int(f.Value.Column), fmt.Sprintf("key %q", f.Key), byName)
				continue
			}
			s.node(f.Key, f.Value)
		}
	case yamldoc.List:
		for _, item := range n.Items() {
			s.node(key, item)
		}
	case yamldoc.String:
		if what := format(n.Text()); what != "" {
			subject := "value"
			if key != "" {
				subject = fmt.Sprintf("key %q", key)
			}
			s.report(int(n.Line), int(n.Column), subject, what)
		}
	}
}

var separators = strings.NewReplacer("-", "", "_", "")

// isSecretKey reports whether a key's name is a secret's name. In a map that takes a secret from a
// store, secretKey is the name of a key in the store.
func isSecretKey(in *yamldoc.Node, key string) bool {
	name := strings.ToLower(separators.Replace(key))
	if !slices.ContainsFunc(secretKeys, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) {
		return false
	}
	return in.Get("remoteRef") == nil && in.Get("secretName") == nil && in.Get("existingSecret").IsNull()
}

func (s *scan) report(line, column int, subject, what string) {
	if s.allowed(line) || s.allowed(line-1) {
		return
	}
	s.problems = append(s.problems, problem.Problem{
		Reason: problem.PlaintextSecret, Severity: problem.Warning, Pos: problem.Pos{File: s.file.Path, Line: line, Column: column},
		Subject: subject, Found: "holds, in plain text, what looks like " + what, Expected: "the name of a Secret, or of a secret in the store",
		Hints: []string{"if it is not a secret, say so: # " + allowPlaintext},
	})
}

// text returns the file's lines.
func (s *scan) text() [][]byte {
	if s.lines == nil {
		s.lines = bytes.Split(s.file.Data, []byte("\n"))
	}
	return s.lines
}

// allowed reports whether a line carries the comment.
func (s *scan) allowed(line int) bool {
	lines := s.text()
	if line < 1 || line > len(lines) {
		return false
	}
	_, comment, found := bytes.Cut(lines[line-1], []byte("# "+allowPlaintext))
	return found && (len(comment) == 0 || comment[0] == ' ' || comment[0] == '\r' || comment[0] == ',')
}

package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// keptGit are the variables of Git's own that are passed on: how to reach a server, not what to do with a repository.
var keptGit = []string{
	"GIT_EXEC_PATH", "GIT_SSH", "GIT_SSH_VARIANT", "GIT_PROXY_COMMAND", "GIT_HTTP_PROXY_AUTHMETHOD", "GIT_ALLOW_PROTOCOL",
	"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_NO_VERIFY", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_SSL_VERSION", "GIT_SSL_CIPHER_LIST",
}

// usersGit are those that are passed on besides with the user's configuration.
var usersGit = regexp.MustCompile(`^GIT_(CONFIG_(SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|SSH_COMMAND)$`)

// gitEnv is the environment of all git commands: the process's own without what would change Git's behaviour.
func gitEnv(base, config string, a address, c credentials, users bool) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case users && usersGit.MatchString(name):
			env = append(env, kv)
		case strings.HasPrefix(name, "GIT_") && !slices.Contains(keptGit, name):
		case name == "SSH_ASKPASS", name == "LANGUAGE", name == "LANG", strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "ARGOSY_GIT_"):
		default:
			env = append(env, kv)
		}
	}
	env = append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "GIT_CONFIG_GLOBAL="+config, "GIT_ATTR_NOSYSTEM=1",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(base), "GIT_OPTIONAL_LOCKS=0")
	if !users {
		env = append(env, "GIT_CONFIG_NOSYSTEM=1")
	}
	if !users && (a.ssh && os.Getenv("GIT_SSH") == "" || c.identity) { // the user's configuration may name another command
		env = append(env, "GIT_SSH_COMMAND="+c.sshCommand(os.Getenv("GIT_SSH_COMMAND")))
	}
	switch {
	case a.scope == "":
	case c.password:
		env = append(env, "ARGOSY_GIT_CREDENTIALS="+c.dir)
	default:
		env = append(env, "ARGOSY_GIT_USERNAME="+a.username, "ARGOSY_GIT_PASSWORD="+a.password)
	}
	return env
}

// gitConfig is the one configuration file Git reads, which may begin with the user's. Repositories of other owners are
// fine, as none of their configuration is executed; hooks are off; what a server may not talk Git into is off.
func gitConfig(a address, c credentials, users bool) []byte {
	var b bytes.Buffer
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	if users {
		for _, file := range usersConfig() {
			fmt.Fprintf(&b, "[include]\n\tpath = \"%s\"\n", quote.Replace(file))
		}
	}
	b.WriteString(`[safe]
	directory = *
[core]
	hooksPath = /dev/null
	askPass =
[gc]
	autoDetach = false
	auto = 2000
	autoPackLimit = 30
	pruneExpire = 1.hour.ago
[maintenance]
	autoDetach = false
[fetch]
	recurseSubmodules = false
[http]
	lowSpeedLimit = 500
	lowSpeedTime = 30
[protocol]
	allow = never
`)
	for _, scheme := range []string{"https", "http", "ssh", "git", "file"} {
		fmt.Fprintf(&b, "[protocol %q]\n\tallow = always\n", scheme)
	}
	if !users {
		b.WriteString("[credential]\n\thelper =\n")
	}
	if helper := c.helper(a); helper != "" {
		fmt.Fprintf(&b, "[credential \"%s\"]\n\thelper =\n\thelper = \"%s\"\n", quote.Replace(a.scope), quote.Replace(helper))
	}
	return b.Bytes()
}

// usersConfig are the files of the user's configuration, the later wins; none of them has to be there. (git-config(1), FILES)
func usersConfig() []string {
	if file, is := os.LookupEnv("GIT_CONFIG_GLOBAL"); is {
		return []string{file}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config"), filepath.Join(home, ".gitconfig")}
}

// command is one call of git.
type command struct {
	args   []string
	stdin  io.Reader
	stdout func(io.Reader) error // reads all of the output; nil discards it
}

// stderrLimit is how much of git's messages is kept.
const stderrLimit = 16 << 10

// run runs git in a session of its own, which ends with the context: without a terminal, nothing can ask there.
func (g *Git) run(ctx context.Context, c command) error {
	cmd := exec.CommandContext(ctx, g.program, c.args...) //nolint:gosec // git, with arguments that are checked
	cmd.Dir, cmd.Env, cmd.Stdin = g.base, g.env, c.stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// SIGTERM lets git remove its lock files; its children (ssh, git-remote-https) get it too.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	stderr := &tail{limit: stderrLimit}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return g.startError(err)
	}
	var readErr error
	if c.stdout != nil {
		readErr = c.stdout(out)
	}
	if readErr == nil {
		_, _ = io.Copy(io.Discard, out)
	} else {
		_ = cmd.Cancel() // nobody reads the rest
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what has not ended by itself
		return ctx.Err()
	}
	if readErr != nil {
		return readErr
	}
	if err != nil {
		return &gitExit{message: message(stderr.String()), all: stderr.String()}
	}
	return nil
}

// output is run for short outputs.
func (g *Git) output(ctx context.Context, limit int64, args ...string) (string, error) {
	var b []byte
	err := g.run(ctx, command{args: args, stdout: func(r io.Reader) error {
		var err error
		if b, err = io.ReadAll(io.LimitReader(r, limit+1)); err == nil && int64(len(b)) > limit {
			err = overLimit(g.name, "bytes of git's answer", int64(len(b)), limit)
		}
		return err
	}})
	return string(b), err
}

func (g *Git) startError(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return &Error{
			Reason: GitMissing, Source: g.name, Detail: "there is no git command",
			Hint: "put git 2.32 or later on the PATH, or give a folder as the source",
		}
	}
	if _, statErr := os.Stat(g.base); statErr != nil {
		return &Error{Reason: Unreadable, Source: g.name, Detail: "the state directory has vanished"}
	}
	return &Error{Reason: GitFailed, Source: g.name, Detail: "git cannot be started"}
}

// gitExit is git ending with an error.
type gitExit struct{ message, all string }

func (e *gitExit) Error() string { return e.message }

// message is the line of git's messages that tells most.
func message(stderr string) string {
	last := ""
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal: ", "error: "} {
			if text, ok := strings.CutPrefix(line, prefix); ok {
				return text
			}
		}
		if line != "" && !strings.HasPrefix(line, "remote: ") && !strings.HasPrefix(line, "warning: ") {
			last = line
		}
	}
	return last
}

// tail keeps the first bytes written to it.
type tail struct {
	bytes.Buffer
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	if room := t.limit - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// said are git's, curl's and ssh's messages that have a meaning of their own, looked for in this order.
var said = []struct {
	pattern *regexp.Regexp
	reason  Reason
	detail  string
	hint    string
}{
	{regexp.MustCompile(`(?i)UNPROTECTED PRIVATE KEY|bad permissions`), Authentication, "ssh refuses the identity file", "make it readable for its owner alone (mode 0400)"},
	{regexp.MustCompile(`(?i)Host key verification failed`), Authentication, "the server's ssh host key is not known", "add it to known_hosts"},
	{regexp.MustCompile(`(?i)Permission denied \(|Authentication failed|could not read (Username|Password)|returned error: 401`), Authentication, "authentication failed", "check the credentials folder"},
	{regexp.MustCompile(`(?i)returned error: 403`), Authentication, "access denied", "check what the credentials may read"},
	{regexp.MustCompile(`(?i)Could not resolve (host|proxy)|Name or service not known|Temporary failure in name resolution|unable to look up|nodename nor servname`), Unreachable, "host not found", "check the URL and the name service"},
	{regexp.MustCompile(`(?i)SSL certificate|certificate verif|server verification failed|unable to get local issuer|self.signed certificate`), Unreachable, "the server's certificate is not trusted", "set GIT_SSL_CAINFO to its authority's file"},
	{regexp.MustCompile(`(?i)timed out|Timeout was reached|Operation too slow`), Unreachable, "the server does not answer in time", ""},
	{regexp.MustCompile(`couldn't find remote ref|no such ref`), UnknownRef, "the ref has just vanished", ""},
	{regexp.MustCompile(`(?i)repository '.*' not found|returned error: 404|does not appear to be a git repository|Repository not found|does not exist|not valid: is this a git repository|no such remote`), NotFound, "no such repository", "check the URL, and whether the credentials may see it"},
	{regexp.MustCompile(`(?i)Connection refused|Failed to connect|Couldn't connect|No route to host|Network is unreachable|Connection reset|Connection closed by|unable to connect|Empty reply|connection abort|proxy|Could not read from remote|hung up|early EOF|RPC failed|returned error: (5\d\d|429)`), Unreachable, "the server cannot be reached", ""},
}

// remoteError turns the end of a command that talked to the server into an Error. Local tells that it was none of
// the server's doing that is known here, so that the mirror may be to blame.
func (g *Git) remoteError(ctx context.Context, err error) (e error, local bool) { //nolint:revive // local is about the error
	var exit *gitExit
	switch {
	case err == nil:
		return nil, false
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // the conversation's own bound
		return &Error{Reason: Unreachable, Source: g.name, Detail: "the server does not answer in time"}, false
	case !errors.As(err, &exit):
		return err, false
	}
	for _, s := range said {
		if s.pattern.MatchString(exit.all) {
			return &Error{Reason: s.reason, Source: g.name, Detail: s.detail, Hint: s.hint}, false
		}
	}
	return &Error{Reason: GitFailed, Source: g.name, Detail: g.clean(exit.message)}, true
}

// detailLimit is how much of a message of git's goes into an Error.
const detailLimit = 200

var (
	varying  = regexp.MustCompile(` after \d+ ms|tmp_[A-Za-z0-9_]+|\d+ bytes`)
	userinfo = regexp.MustCompile(`://[^/@\s]+@`)
)

// clean takes out of a message what must not be in it: paths of the mirror, secrets, what varies.
func (g *Git) clean(s string) string {
	for _, secret := range g.secrets() {
		s = strings.ReplaceAll(s, secret, "***")
	}
	s = strings.ReplaceAll(s, g.mirror, "mirror")
	s = strings.ReplaceAll(s, g.base, "state")
	s = userinfo.ReplaceAllString(s, "://***@")
	s = varying.ReplaceAllString(s, "")
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		s = "git failed without a message"
	}
	if len(s) > detailLimit {
		s = strings.ToValidUTF8(s[:detailLimit], "") + "..."
	}
	return s
}

// secrets are the passwords in use, for clean.
func (g *Git) secrets() []string {
	var out []string
	if g.address.password != "" {
		out = append(out, g.address.password)
	} else if g.address.username != "" {
		out = append(out, g.address.username) // a token in the place of a name
	}
	if g.credentials.password {
		if data, err := os.ReadFile(filepath.Join(g.credentials.dir, "password")); err == nil {
			if s := strings.TrimSpace(string(data)); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

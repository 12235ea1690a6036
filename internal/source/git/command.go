package git

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

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/githubapp"
)

// serviceVariables are all variables that the service's git gets: what it needs to run, and to
// reach a server.
var serviceVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
	"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
	"GIT_EXEC_PATH", "GIT_SSH", "GIT_SSH_VARIANT", "GIT_PROXY_COMMAND", "GIT_HTTP_PROXY_AUTHMETHOD", "GIT_ALLOW_PROTOCOL",
	"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_NO_VERIFY", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_SSL_VERSION", "GIT_SSL_CIPHER_LIST",
}

// ownVariables are set for each git: it never prompts, and its messages are read.
var ownVariables = regexp.MustCompile(`^(SSH_ASKPASS$|LANGUAGE$|LANG$|LC_|ARGOSY_GIT_)`)

// userVariables are passed on if git uses the user's configuration, and so is what is not Git's.
var userVariables = regexp.MustCompile(`^GIT_(CONFIG_(SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|SSH_COMMAND)$`)

// gitEnv returns the environment of all git commands: the process's own without variables that
// change Git's behaviour. The service's git gets little more than what it needs to reach a server,
// so a compromised helper finds little there.
func gitEnv(base, config string, a address, c credentials, users bool) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		others := !strings.HasPrefix(name, "GIT_") && !ownVariables.MatchString(name)
		if slices.Contains(serviceVariables, name) || users && (others || userVariables.MatchString(name)) {
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
	case c.app:
		env = append(env, "ARGOSY_GIT_USERNAME="+githubapp.User) // each command adds its token
	default:
		env = append(env, "ARGOSY_GIT_USERNAME="+a.username, "ARGOSY_GIT_PASSWORD="+a.password)
	}
	return env
}

// gitConfig returns the only configuration file that Git reads, which may begin with the user's.
// The folders are repositories that may have another owner. Hooks are off, and so is what a server
// must not make Git do. No write waits for the disk: a damaged mirror is fetched again.
func gitConfig(a address, c credentials, users bool, folders ...string) []byte {
	var b bytes.Buffer
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	if users {
		for _, file := range userConfigFiles() {
			fmt.Fprintf(&b, "[include]\n\tpath = \"%s\"\n", quote.Replace(file))
		}
	}
	b.WriteString("[safe]\n")
	for _, folder := range folders {
		fmt.Fprintf(&b, "\tdirectory = \"%s\"\n", quote.Replace(folder))
	}
	b.WriteString(`[core]
	hooksPath = /dev/null
	askPass =
	fsync = none
	bigFileThreshold = 8m
	deltaBaseCacheLimit = 32m
	packedGitWindowSize = 32m
	packedGitLimit = 128m
[pack]
	threads = 1
	windowMemory = 32m
	deltaCacheSize = 16m
[gc]
	autoDetach = false
	auto = 2000
	autoPackLimit = 100
	pruneExpire = 1.hour.ago
[maintenance]
	autoDetach = false
[fetch]
	recurseSubmodules = false
	unpackLimit = 1
[http]
	followRedirects = false
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

// userConfigFiles returns the files of the user's configuration; later files win, and none has to
// exist. (git-config(1), FILES)
func userConfigFiles() []string {
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
	env    []string // additional variables
	stdin  io.Reader
	stdout func(io.Reader) error // reads all of the output; nil discards it
}

// stderrLimit bounds git's messages in a boundedBuffer, in bytes.
const stderrLimit = 16 << 10

// run runs git in a separate session, which ends with the context. Without a terminal, nothing can
// prompt there.
func (r *Repository) run(ctx context.Context, c command) error {
	cmd := exec.CommandContext(ctx, r.program, c.args...) //nolint:gosec // git, with arguments that are checked
	cmd.Dir, cmd.Env, cmd.Stdin = r.base, slices.Concat(r.env, c.env), c.stdin
	if r.app != nil {
		cmd.Env = append(cmd.Env, "ARGOSY_GIT_PASSWORD="+r.app.Token())
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// SIGTERM lets git remove its lock files; its children (ssh, git-remote-https) get it too.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	stderr := &boundedBuffer{limit: stderrLimit}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return r.startError(err)
	}
	if err := limitProcess(cmd.Process.Pid, r.maxMemory, r.maxFetch); err != nil && !errors.Is(err, syscall.ESRCH) {
		_ = cmd.Cancel()
		return errors.Join(fmt.Errorf("%s: bound git's memory: %w", r.name, err), cmd.Wait())
	}
	var readErr error
	if c.stdout != nil {
		readErr = c.stdout(out)
	}
	if readErr == nil {
		_, _ = io.Copy(io.Discard, out)
	} else {
		_ = cmd.Cancel() // no one reads the rest
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // children that have not ended by themselves
		return ctx.Err()
	}
	if e := r.resourceError(err, stderr.String()); e != nil {
		return e
	}
	if readErr != nil {
		return readErr
	}
	if err != nil {
		return &gitExit{message: message(stderr.String()), all: stderr.String()}
	}
	return nil
}

// output runs git and returns its output of at most limit bytes.
func (r *Repository) output(ctx context.Context, limit int64, args ...string) (string, error) {
	var b []byte
	err := r.run(ctx, command{args: args, stdout: func(out io.Reader) error {
		var err error
		if b, err = io.ReadAll(io.LimitReader(out, limit+1)); err == nil && int64(len(b)) > limit {
			err = source.LimitError(r.name, "bytes of git's answer", int64(len(b)), limit)
		}
		return err
	}})
	return string(b), err
}

func (r *Repository) startError(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return &source.Error{
			Reason: source.GitMissing, Source: r.name, Detail: "there is no git command",
			Hint: "put git 2.32 or later on the PATH, or give a folder as the source",
		}
	}
	if _, statErr := os.Stat(r.base); statErr != nil {
		return &source.Error{Reason: source.Unreadable, Source: r.name, Detail: "the state directory has vanished"}
	}
	return &source.Error{Reason: source.GitFailed, Source: r.name, Detail: "git cannot be started"}
}

// gitExit means that git ended with an error.
type gitExit struct{ message, all string }

func (e *gitExit) Error() string { return e.message }

// boundedBuffer keeps the first bytes written to it.
type boundedBuffer struct {
	bytes.Buffer
	limit int
}

func (t *boundedBuffer) Write(p []byte) (int, error) {
	if room := t.limit - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

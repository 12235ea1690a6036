package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/source"
)

// message returns the most useful line of git's messages.
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

// known is a message with its own reason.
type known struct {
	pattern      *regexp.Regexp
	reason       source.Reason
	detail, hint string
}

// messages are messages of git, curl and ssh, searched in this order.
var messages = []known{
	{regexp.MustCompile(`(?i)UNPROTECTED PRIVATE KEY|bad permissions`), source.Authentication, "ssh refuses the identity file", "make it readable only for its owner (mode 0400)"},
	{regexp.MustCompile(`(?i)Host key verification failed`), source.Authentication, "the server's ssh host key is not known", "add it to known_hosts"},
	{regexp.MustCompile(`(?i)Permission denied \(|Authentication failed|could not read (Username|Password)|returned error: 401`), source.Authentication, "authentication failed", "check the credentials folder"},
	{regexp.MustCompile(`(?i)returned error: 403`), source.Authentication, "access denied", "check what the credentials may read"},
	{regexp.MustCompile(`(?i)Could not resolve (host|proxy)|Name or service not known|Temporary failure in name resolution|unable to look up|nodename nor servname`), source.Unreachable, "host not found", "check the URL and the name service"},
	{regexp.MustCompile(`(?i)SSL certificate|certificate verif|server verification failed|unable to get local issuer|self.signed certificate`), source.Unreachable, "the server's certificate is not trusted", "set GIT_SSL_CAINFO to its authority's file"},
	{regexp.MustCompile(`(?i)timed out|Timeout was reached|Operation too slow`), source.Unreachable, "the server does not answer in time", ""},
	{regexp.MustCompile(`couldn't find remote ref|no such ref`), source.UnknownRef, "the ref has just vanished", ""},
	{regexp.MustCompile(`(?i)repository '.*' not found|returned error: 404|does not appear to be a git repository|Repository not found|does not exist|not valid: is this a git repository|no such remote`), source.NotFound, "no such repository", "check the URL, and whether the credentials may see it"},
	{regexp.MustCompile(`(?i)Connection refused|Failed to connect|Couldn't connect|No route to host|Network is unreachable|Connection reset|Connection closed by|unable to connect|Empty reply|connection abort|proxy|Could not read from remote|hung up|early EOF|RPC failed|returned error: (5\d\d|429)`), source.Unreachable, "the server cannot be reached", ""},
}

// resources are git's messages about memory and disk. They mean neither a fault of the server nor a
// damaged mirror.
var resources = []known{
	{regexp.MustCompile(`died of signal 9\b`), source.Unreadable, "git was killed", "the service's container may need more memory"},
	{regexp.MustCompile(`(?i)out of memory|cannot allocate memory|malloc failed|realloc failed|mmap failed|unable to create (load )?thread|died of signal (6|11)\b`), source.LimitExceeded, "git needs more memory than it may have (MEMORY bytes)", "keep large files out of the repository"},
	{regexp.MustCompile(`(?i)no space left on device|disk quota exceeded`), source.Unreadable, "the disk of the state is full", "make room, or give it a larger one"},
}

// serverLine is a line of the server's, whose memory and disk are not ours.
var serverLine = regexp.MustCompile(`(?m)^remote: .*$`)

// resourceError returns the error of a command that ended for lack of memory or disk, nil for any
// other.
func (r *Repository) resourceError(err error, stderr string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return nil
	}
	if status, is := exit.Sys().(syscall.WaitStatus); is && status.Signaled() {
		stderr += fmt.Sprintf("\ndied of signal %d", status.Signal())
	}
	stderr = serverLine.ReplaceAllString(stderr, "")
	for _, s := range resources {
		if s.pattern.MatchString(stderr) {
			detail := strings.Replace(s.detail, "MEMORY", strconv.FormatInt(r.maxMemory, 10), 1)
			return &source.Error{Reason: s.reason, Source: r.name, Detail: detail, Hint: s.hint}
		}
	}
	return nil
}

// remoteError turns the failure of a command that talked to the server into an Error. Its reason is
// GitFailed if no known failure of the server explains it.
func (r *Repository) remoteError(ctx context.Context, err error) error {
	var exit *gitExit
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // the conversation's own timeout
		return &source.Error{Reason: source.Unreachable, Source: r.name, Detail: "the server does not answer in time"}
	case !errors.As(err, &exit):
		return err
	}
	for _, s := range messages {
		if s.pattern.MatchString(exit.all) {
			return &source.Error{Reason: s.reason, Source: r.name, Detail: s.detail, Hint: s.hint}
		}
	}
	return &source.Error{Reason: source.GitFailed, Source: r.name, Detail: r.clean(exit.message)}
}

// detailLimit bounds the part of git's message in an Error, in bytes.
const detailLimit = 200

var (
	varying  = regexp.MustCompile(` after \d+ ms|tmp_[A-Za-z0-9_]+|\d+ bytes`)
	userinfo = regexp.MustCompile(`://[^/@\s]+@`)
)

// clean removes paths of the mirror, secrets and varying parts from a message.
func (r *Repository) clean(s string) string {
	for _, secret := range r.secrets() {
		s = strings.ReplaceAll(s, secret, "***")
	}
	s = strings.ReplaceAll(s, r.mirror, "mirror")
	s = strings.ReplaceAll(s, r.base, "state")
	s = userinfo.ReplaceAllString(s, "://***@")
	s = varying.ReplaceAllString(s, "")
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		s = "git failed without a message"
	}
	return problem.Truncate(s, detailLimit+len("..."))
}

// secrets returns the passwords in use, for clean.
func (r *Repository) secrets() []string {
	var out []string
	if r.address.password != "" {
		out = append(out, r.address.password)
	} else if r.address.username != "" {
		out = append(out, r.address.username) // a token in place of a name
	}
	if r.app != nil && r.app.Token() != "" {
		out = append(out, r.app.Token())
	}
	if r.credentials.password {
		if data, err := os.ReadFile(filepath.Join(r.credentials.dir, "password")); err == nil {
			if s := strings.TrimSpace(string(data)); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

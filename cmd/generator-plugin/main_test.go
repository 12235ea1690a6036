package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// patient is what a test waits for at most.
const patient = 30 * time.Second

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// parse reads a command line.
func parse(args []string, out io.Writer) (*flags, error) {
	f := &flags{}
	cmd := newCommand(f, func(context.Context) error { return nil })
	cmd.SetArgs(normalize(args))
	cmd.SetOut(out)
	return f, cmd.Execute()
}

// What is wrong with the command line ends with status 2, one line that says what, and nothing on
// stdout.
func TestUsageErrors(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	token, reference, facts := file(t, token), file(t, "$argocd:token"), file(t, "kind: Other\n")
	good := []string{"--source", ".", "--hub", "h", "--token-file", token}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--source is required"},
		{[]string{"--source", "."}, "--hub is required"},
		{[]string{"--source", ".", "--hub", "h"}, "--token-file is required"},
		{with("--nosuch"), "unknown flag: --nosuch"},
		{with("--hub"), "flag needs an argument: --hub"},
		{with("--interval", "often"), `invalid argument "often" for "--interval" flag`},
		{with("--interval", "0s"), "--interval 0s; expected more than nothing"},
		{with("more"), `unexpected argument "more"`},
		{with("--tls-cert", "c"), "--tls-cert and --tls-key belong together"},
		{with("--log-format", "xml"), `--log-format "xml"; expected text or json`},
		{with("--log-level", "loud"), `--log-level "loud"; expected debug, info, warn or error`},
		{with("--facts", ""), "--facts is empty"},
		{with("--tls-client-ca", "c"), "--tls-client-ca needs --tls-cert and --tls-key"},
		{with("--tokens-file", "t"), "--tokens-file and --tokens-dir belong together"},
		{with("--tokens-dir", "t"), "--tokens-file and --tokens-dir belong together"},
		{with("--tokens-file", "/nosuch/tokens.yaml", "--tokens-dir", "/"), `tokens file "/nosuch/tokens.yaml": no such file or directory`},
		{with("--token-rate", "0"), "--token-rate 0; expected more than 0"},
		{with("--token-rate", "NaN"), "--token-rate NaN; expected more than 0"},
		{with("--token-burst", "0"), "--token-burst 0; expected at least 1"},
		{with("--failure-rate", "-1"), "--failure-rate -1; expected more than 0"},
		{with("--failure-burst", "0"), "--failure-burst 0; expected at least 1"},
		{[]string{"--source", "https://example.org/x.git?access_token=hidden", "--hub", "h", "--token-file", token}, `git "https://example.org/x.git?...": the URL has a query`},
		{with("--plugin-configmap", ""), "--plugin-configmap is empty"},
		{with("--max-request-bytes", "0"), "--max-request-bytes 0; expected at least 1"},
		{with("--max-response-bytes", "-1"), "--max-response-bytes -1; expected at least 1"},
		{with("--max-concurrent", "0"), "--max-concurrent 0; expected at least 1"},
		{with("--max-connections", "7"), "--max-connections 7; expected at least 8"},
		{with("--max-webhook-bytes", "0"), "--max-webhook-bytes 0; expected at least 1"},
		{with("--drain-delay", "-1s"), "--drain-delay -1s; expected 0s or more"},
		{with("--layout", "/nosuch/layout.yaml"), "--layout: open /nosuch/layout.yaml: no such file or directory"},
		{with("--facts", "/nosuch/facts.yaml"), `facts file "/nosuch/facts.yaml": no such file or directory`},
		{with("--facts", facts), facts + ":1:7"},
		{with("--state-dir", "/dev/null/x"), "--state-dir: mkdir /dev/null"},
		{with("--state-keys-file", token), "--state-keys-file needs --state or --state-dir"},
		{with("--state-dir", t.TempDir(), "--state-keys-file", token), "expected at least 32 (openssl rand -hex 32)"},
		{with("--state-dir", t.TempDir(), "--state-keys-file", file(t, "")), "is empty; expected a key of at least 32 characters on each line"},
		{with("--facts", "kubernetes"), "no kubernetes configuration"},
		{with("--flux-namespace", "flux-system"), "no kubernetes configuration"},
		{with("--token-file", "/nosuch/token"), `token file "/nosuch/token": no such file or directory`},
		{with("--token-file", reference), `it begins with "$"`},
		{with("--token-file", file(t, "")), "it is empty"},
		{with("--listen", "nowhere"), "missing port in address"},
		{with("--tls-cert", "/nosuch/c", "--tls-key", "/nosuch/k"), `TLS certificate "/nosuch/c": no such file or directory`},
		{[]string{"--source", "https://example.org/x.git", "--ref", "a b", "--hub", "h", "--token-file", token}, `ref "a b" is not a valid name`},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), c.args, &stdout, &stderr); code != exitUsage {
			t.Errorf("%v: status %d", c.args, code)
		}
		if !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 || !strings.Contains(stderr.String(), "generator-plugin: ") {
			t.Errorf("%v: %q, want %q", c.args, stderr.String(), c.want)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, &stdout, &stderr); code != exitGood || stderr.Len() > 0 {
		t.Errorf("status %d, %s", code, stderr.String())
	}
	for _, flag := range []string{
		"source", "ref", "interval", "hub", "listen", "token-file", "tokens-file", "tokens-dir", "token-rate", "token-burst",
		"failure-rate", "failure-burst", "tls-client-ca", "facts", "namespace", "flux-namespace", "refresh-applicationsets", "plugin-configmap", "state-dir", "git-credentials", "tls-cert", "tls-key",
		"max-request-bytes", "max-response-bytes", "max-webhook-bytes", "max-connections", "drain-delay", "log-format",
	} {
		assert.Contains(t, stdout.String(), "  --"+flag+" ", "help does not tell of --%s", flag)
	}
	stdout.Reset()
	if code := run(t.Context(), []string{"--version"}, &stdout, &stderr); code != exitGood || !strings.HasPrefix(stdout.String(), "generator-plugin ") {
		t.Errorf("status %d, %s", code, stdout.String())
	}
}

func TestSourceForms(t *testing.T) {
	rest := []string{"--ref", "next", "--hub", "h", "--token-file", "t"}
	for _, args := range [][]string{
		{"--source", "https://example.org/fleet"},
		{"--source=https://example.org/fleet"},
		{"-source", "https://example.org/fleet"},
		{"--source", "git", "https://example.org/fleet"},
		{"--source=git", "https://example.org/fleet"},
	} {
		f, err := parse(append(args, rest...), io.Discard)
		if err != nil || f.repository.Location != "https://example.org/fleet" || f.repository.Ref != "next" || f.Hub != "h" {
			t.Errorf("%v: %+v, %v", args, f, err)
		}
	}
	if f, err := parse(append([]string{"--source", "git"}, rest...), io.Discard); err != nil || f.repository.Location != "git" { // a folder of that name
		t.Errorf("%+v, %v", f, err)
	}
}

// lines hands out what is written line by line.
type lines struct {
	mu   sync.Mutex
	rest string
	out  chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest += string(p)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			return len(p), nil
		}
		l.out <- line
		l.rest = rest
	}
}

// serving runs the command until stop, which returns its status. The log is complete then.
func serving(t *testing.T, args ...string) (address string, log *strings.Builder, stop func() int) {
	t.Helper()
	ctx, signal := context.WithCancel(t.Context())
	stderr, log := &lines{out: make(chan string, 10000)}, &strings.Builder{}
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, append(args, "--listen", "127.0.0.1:0", "--log-format", "json"), io.Discard, stderr)
	}()
	says := regexp.MustCompile(`^generator-plugin: serving folder ".*" at (http://127\.0\.0\.1:\d+), revision sha256:[0-9a-f]+(\+layout-[0-9a-f]+)?$`)
	timeout := time.After(patient)
	for address == "" {
		select {
		case line := <-stderr.out:
			if m := says.FindStringSubmatch(line); m != nil {
				address = m[1]
			} else if !strings.HasPrefix(line, "{") {
				t.Errorf("no JSON in the log: %s", line)
			}
			log.WriteString(line + "\n")
		case code := <-status:
			t.Fatalf("ended with status %d", code)
		case <-timeout:
			t.Fatal("it never served")
		}
	}
	return address, log, func() int {
		signal()
		select {
		case code := <-status:
			for len(stderr.out) > 0 {
				log.WriteString(<-stderr.out + "\n")
			}
			return code
		case <-timeout:
			t.Fatal("it never ended")
			return -1
		}
	}
}

// query asks a service for the parameter sets of a view.
func query(t *testing.T, address, view string) (code int, body string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, address+"/api/v1/getparams.execute", strings.NewReader(`{"applicationSetName":"x","input":{"parameters":{"view":"`+view+`"}}}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	return answer(t, r)
}

func answer(t *testing.T, r *http.Request) (code int, body string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(data)
}

// probe is the body of a GET.
func probe(t *testing.T, address, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	_, body := answer(t, r)
	return body
}

// token is the token of all services here.
const token = "correct-horse-battery-staple"

// until probes a service, which has a process of its own, until it is in a state.
func until(t *testing.T, address, state string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patient); !is(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never %s: %s", state, probe(t, address, "/readyz"))
		}
	}
}

// The command serves this repository's own fleet, says so in one line, and ends with status 0 at a
// signal.
func TestServes(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	address, _, stop := serving(t, "--source", "../..", "--hub", "hub-eu", "--token-file", file(t, token+"\n"),
		"--facts", "../../examples/facts.yaml", "--state-dir", state)
	if code, body := query(t, address, "members"); code != http.StatusOK || !strings.HasPrefix(body, `{"output":{"parameters":[{`) {
		t.Errorf("%d %.200s", code, body)
	}
	if code := stop(); code != exitGood {
		t.Errorf("status %d", code)
	}
	if stored, err := filepath.Glob(filepath.Join(state, "records-*", "accepted-v3.record")); err != nil || len(stored) != 1 {
		t.Errorf("stored %v, %v", stored, err)
	}
}

// A repository without a layout of its own is served by the one given. Another one counts at the
// next start, although the commit is the same and the state was made by the first.
func TestGivenLayout(t *testing.T) {
	repository, state := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"clusters/a/values.yaml": "clusterName: a\ntenant: t\nenvironment: dev\n",
		"one/catalog.yaml":       "web: {enabled: true, chart: {repoURL: r, name: web, version: 1.0.0}}\n",
		"two/catalog.yaml":       "web: {enabled: true, chart: {repoURL: r, name: web, version: 2.0.0}}\n",
	} {
		path := filepath.Join(repository, name)
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
	for _, c := range []struct{ folder, want string }{{"one", `"version":"1.0.0"`}, {"two", `"version":"2.0.0"`}, {"one", `"version":"1.0.0"`}} {
		layout := file(t, "members: clusters/{{ .cluster }}/values.yaml\nhub: hub\nhubs: {hub: {tenant: t, environment: dev}}\nversions: null\ngroups: {addons: {catalog: ["+c.folder+"/catalog.yaml]}, fleet: null, monitoring: null, resources: null}\n")
		address, _, stop := serving(t, "--source", repository, "--hub", "hub", "--token-file", file(t, token+"\n"), "--state-dir", state, "--layout", layout)
		code, body := query(t, address, `components","group":"addons","selector":{"matchLabels":{"tenant":"t"}},"component":"web`)
		if code != http.StatusOK || strings.Count(body, c.want) != 2 {
			t.Errorf("%d %s; expected %s on both clusters", code, body, c.want)
		}
		if code := stop(); code != exitGood {
			t.Errorf("status %d", code)
		}
	}
}

// With keys, state that no key has signed is reported and not used, so that nobody who can write to
// the store plants a snapshot. A key that is not the first one any more still reads.
func TestUnsignedStateIsRefused(t *testing.T) {
	const one, two = "one-key-of-32-characters-00000000\n", "two-key-of-32-characters-00000000\n"
	dir := t.TempDir()
	problems := func(keys string) string {
		t.Helper()
		args := []string{"--source", "../..", "--hub", "hub-eu", "--token-file", file(t, token+"\n"), "--facts", "../../examples/facts.yaml", "--state-dir", dir}
		if keys != "" {
			args = append(args, "--state-keys-file", file(t, keys))
		}
		_, log, stop := serving(t, args...)
		if code := stop(); code != exitGood {
			t.Errorf("status %d", code)
		}
		return log.String()
	}
	const refused = "no key of the store has signed it"
	for _, c := range []struct {
		name, keys string
		refused    bool
	}{
		{"first start", one, false},
		{"restart", one, false},
		{"another key", two, true},
		{"both keys", one + two, false},
		{"no key", "", false},
		{"the first again", one, false},
	} {
		if log := problems(c.keys); strings.Contains(log, refused) != c.refused {
			t.Errorf("%s: %s", c.name, log)
		}
	}
}

// The service links neither Argo CD nor Helm (cost of make run).
func TestLinksLittle(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) == 0 {
		t.Skip("no build information")
	}
	for _, dep := range info.Deps {
		for _, heavy := range []string{"github.com/argoproj/", "helm.sh/", "k8s.io/kubernetes", "sigs.k8s.io/controller-runtime"} {
			if strings.HasPrefix(dep.Path, heavy) {
				t.Errorf("links %s", dep.Path)
			}
		}
	}
}

// A folder has no signatures: signers that nobody asks would be a policy that is off.
func TestSignersNeedAGitSource(t *testing.T) {
	for source, want := range map[string]string{
		t.TempDir():                 "--source-signers needs a Git repository as --source: a folder has no signatures",
		"https://example.org/fleet": "",
	} {
		got := ""
		if _, err := parse([]string{"--source", source, "--hub", "h", "--token-file", "t", "--source-signers", "s"}, io.Discard); err != nil {
			got = err.Error()
		}
		assert.Equal(t, want, got, "%s", source)
	}
}

// The service refuses mistyped credentials of mounts at its start.
func TestMistypedMountCredentialsAreRefused(t *testing.T) {
	for _, wrong := range [][]string{{"payments:/secrets"}, {"=x"}, {"a=x", "a=y"}} {
		args := []string{"--source", "https://example.org/x", "--hub", "h", "--token-file", "t"}
		for _, w := range wrong {
			args = append(args, "--mount-credentials", w)
		}
		if _, err := parse(args, io.Discard); err == nil || !strings.Contains(err.Error(), "expected NAME=VALUE, each name once") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

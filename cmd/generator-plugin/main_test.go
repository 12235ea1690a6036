package main

import (
	"bytes"
	"context"
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
)

// patient is what a test waits for at most.
const patient = 30 * time.Second

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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

// What is wrong with the command line ends with status 2, one line that says what, and nothing on stdout.
func TestUsageErrors(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	token, reference, facts := file(t, "secret"), file(t, "$argocd:token"), file(t, "kind: Other\n")
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
		{with("--facts", "/nosuch/facts.yaml"), `facts file "/nosuch/facts.yaml": no such file or directory`},
		{with("--facts", facts), facts + ":1:7"},
		{with("--state-dir", "/dev/null/x"), "--state-dir: mkdir /dev/null"},
		{with("--facts", "kubernetes"), "no kubernetes configuration"},
		{with("--flux-namespace", "flux-system"), "no kubernetes configuration"},
		{with("--token-file", "/nosuch/token"), `token file "/nosuch/token": no such file or directory`},
		{with("--token-file", reference), `it begins with "$"`},
		{with("--token-file", file(t, "")), "it is empty"},
		{with("--listen", "nowhere"), "missing port in address"},
		{with("--tls-cert", "/nosuch/c", "--tls-key", "/nosuch/k"), `TLS certificate "/nosuch/c": no such file or directory`},
		{[]string{"--source", "https://example.org/x.git", "--ref", "a b", "--hub", "h", "--token-file", token}, `ref "a b" is no valid name`},
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
		if !strings.Contains(stdout.String(), "  --"+flag+" ") {
			t.Errorf("help does not tell of --%s", flag)
		}
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

// The command serves this repository's own fleet, says so in one line, and ends with status 0 at a signal.
func TestServes(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	ctx, signal := context.WithCancel(t.Context())
	stderr := &lines{out: make(chan string, 1000)}
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{
			"--source", "../..", "--hub", "hub-eu", "--listen", "127.0.0.1:0", "--token-file", file(t, "secret\n"),
			"--facts", "../../examples/facts.yaml", "--log-format", "json", "--state-dir", state,
		}, io.Discard, stderr)
	}()
	said := regexp.MustCompile(`^generator-plugin: serving folder "\.\./\.\." at (http://127\.0\.0\.1:\d+), revision sha256:[0-9a-f]+$`)
	timeout := time.After(patient)
	address := ""
	for address == "" {
		select {
		case line := <-stderr.out:
			if m := said.FindStringSubmatch(line); m != nil {
				address = m[1]
			} else if !strings.HasPrefix(line, "{") {
				t.Errorf("no JSON in the log: %s", line)
			}
		case code := <-status:
			t.Fatalf("ended with status %d", code)
		case <-timeout:
			t.Fatal("it never served")
		}
	}
	r, err := http.NewRequest(http.MethodPost, address+"/api/v1/getparams.execute", strings.NewReader(`{"applicationSetName":"x","input":{"parameters":{"view":"members"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer secret")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte(`{"output":{"parameters":[{`)) {
		t.Errorf("%s %.200s %v", resp.Status, body, err)
	}
	signal()
	select {
	case code := <-status:
		if code != exitGood {
			t.Errorf("status %d", code)
		}
	case <-timeout:
		t.Fatal("it never ended")
	}
	if kept, err := filepath.Glob(filepath.Join(state, "accepted-*.tar")); err != nil || len(kept) != 1 {
		t.Errorf("kept %v, %v", kept, err)
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

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/test/accidents"
)

const (
	token    = "the-token-of-one-whole-campaign"
	patience = time.Minute
	poll     = 20 * time.Millisecond
)

// serving is what the program says when it has something to serve.
var serving = regexp.MustCompile(`(?m)^generator-plugin: serving .* at (http://[^,]+),`)

// service is the program, which may be killed and started again on the same state directory.
type service struct {
	binary, hub, repo, state, token string
	log                             string // of the last start
	url                             string // of the last start; empty until it serves
	cmd                             *exec.Cmd
	client                          *http.Client
}

// build compiles the program, as `make build` does.
func build(dir string) (string, error) {
	binary := filepath.Join(dir, "generator-plugin")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../../cmd/generator-plugin").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}

func newService(t *testing.T, binary, repo, hub string) *service {
	t.Helper()
	dir := t.TempDir()
	s := &service{
		binary: binary, hub: hub, repo: repo, state: filepath.Join(dir, "state"), token: filepath.Join(dir, "token"),
		log: filepath.Join(dir, "log"), client: &http.Client{Timeout: patience},
	}
	require.NoError(t, os.WriteFile(s.token, []byte(token+"\n"), 0o600))
	t.Cleanup(func() { _ = s.kill() })
	return s
}

// start starts the program, on a port of the kernel's choice: one of before may be another
// program's by now. It may not be ready yet.
func (s *service) start() error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close()
	s.url = ""
	s.cmd = exec.Command(s.binary, "--source", "file://"+s.repo, "--ref", "main", "--interval", "1h", "--hub", s.hub,
		"--listen", "127.0.0.1:0", "--token-file", s.token, "--state-dir", s.state, "--log-level", "warn")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	return s.cmd.Start()
}

// kill ends it as a crash would.
func (s *service) kill() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Kill()
	var exit *exec.ExitError
	if waited := s.cmd.Wait(); waited != nil && !errors.As(waited, &exit) {
		err = errors.Join(err, waited)
	}
	s.cmd = nil
	return err
}

// request is one with the token.
func (s *service) request(method, path string, body any) (int, []byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, content, err
}

// ask asks for parameter sets, as an ApplicationSet does.
func (s *service) ask(applicationSet string, p parameters) (code int, sets []set, refusal string, err error) {
	code, content, err := s.request(http.MethodPost, "/api/v1/getparams.execute", map[string]any{
		"applicationSetName": applicationSet, "input": map[string]any{"parameters": p},
	})
	if err != nil || code != http.StatusOK {
		return code, nil, string(content), err
	}
	var answer struct {
		Output struct {
			Parameters []json.RawMessage `json:"parameters"`
		} `json:"output"`
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return code, nil, "", err
	}
	out := make([]set, len(answer.Output.Parameters))
	for i, raw := range answer.Output.Parameters {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			return code, nil, "", err
		}
		var release struct {
			Release any `json:"release"`
		}
		if err := json.Unmarshal(raw, &release); err != nil {
			return code, nil, "", err
		}
		if keys, ok := release.Release.(map[string]any); ok {
			out[i].Release = map[string]string{"type": fmt.Sprint(keys["type"])}
		}
		if out[i].Deletion == "" {
			out[i].Deletion = "orphan"
		}
	}
	return code, out, "", nil
}

// considered waits until the service has decided about a commit, which may have nothing in it.
func (s *service) considered(commit string, nothing bool) error {
	deadline, notified := time.Now().Add(patience), false
	for {
		if s.url == "" {
			s.url = s.serves()
		}
		if !notified { // it may be starting yet
			code, _, err := s.request(http.MethodPost, "/api/v1/webhook", map[string]any{})
			notified = err == nil && code == http.StatusAccepted
		}
		_, content, err := s.request(http.MethodGet, "/readyz", nil)
		if err == nil && notified {
			if decided, err := accidents.Decided(content, commit, nothing); decided || err != nil {
				return err
			}
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("commit %s is not considered within %s: %s\n%s", commit, patience, content, s.tail()), err)
		}
		<-time.After(poll) // between two looks at another process
	}
}

// poll has the service look for commits.
func (s *service) poll() error {
	code, content, err := s.request(http.MethodPost, "/api/v1/webhook", map[string]any{})
	if err == nil && code != http.StatusAccepted {
		err = fmt.Errorf("webhook: %d %s", code, content)
	}
	return err
}

// serves is where the program serves; empty as long as it does not.
func (s *service) serves() string {
	content, err := os.ReadFile(s.log)
	if err != nil {
		return ""
	}
	if found := serving.FindSubmatch(content); found != nil {
		return string(found[1])
	}
	return ""
}

// tail is the end of the log.
func (s *service) tail() string {
	content, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

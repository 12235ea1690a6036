package main

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServiceRunsFromImageFiles starts the service from nothing but its image's files, as user
// 65532 with a read-only root. By the image's own Git, sh and CA handling it reads a private
// repository over HTTPS, and it serves the commit.
func TestServiceRunsFromImageFiles(t *testing.T) {
	if _, err := os.Stat("../../dist/image-root"); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and the image's files: make image-check")
	}
	run, err := filepath.Abs("../image-run.sh")
	if err != nil {
		t.Fatal(err)
	}
	repository := fleet(t)
	server := serve(t, repository)
	dir := t.TempDir()
	write(t, dir, "token", "the-token-of-a-release-under-test")
	write(t, dir, "credentials/username", "reader")
	write(t, dir, "credentials/password", "pass word")
	write(t, dir, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	cmd := exec.CommandContext(t.Context(), run, "--source="+server.URL+"/fleet", "--ref=main", "--hub=hub-eu", "--listen="+address,
		"--token-file="+filepath.Join(dir, "token"), "--git-credentials="+filepath.Join(dir, "credentials"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME=/tmp", "GIT_SSL_CAINFO="+filepath.Join(dir, "ca.pem"))
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				break
			}
		}
		select {
		case <-ended:
			t.Fatal("the service has ended")
		case <-ctx.Done():
			t.Fatalf("not ready within a minute: %v", err)
		case <-time.After(100 * time.Millisecond): // between two questions
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/etc/passwd", cmd.Process.Pid))
	if err != nil || !strings.Contains(string(status), "65532") {
		t.Errorf("the service's root is not the image's: %q, %v", status, err)
	}
}

// fleet is a repository with this project's own fleet.
func fleet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"addons", "charts", "fleet", "resources", "versions"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join("..", "..", folder))); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "fleet"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", arguments...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, out)
		}
	}
	return dir
}

// serve serves a repository as /fleet over HTTPS, to the user of the test alone.
func serve(t *testing.T, repository string) *httptest.Server {
	t.Helper()
	execPath, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"), Root: "/fleet",
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(repository, ".git"), "GIT_HTTP_EXPORT_ALL=1"},
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "reader" || password != "pass word" {
			w.Header().Set("WWW-Authenticate", `Basic realm="fleet"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

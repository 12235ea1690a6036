package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// asCommand makes the test's program the command itself.
const asCommand = "ARGOSY_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process starts the command in a process of its own with a little environment, and returns what
// the first line of its standard error that matches says.
func process(t *testing.T, env []string, says string, args ...string) (p *exec.Cmd, found string) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	t.Cleanup(cancel)
	p = exec.CommandContext(ctx, program, args...)
	p.Env = slices.Concat(env, []string{asCommand + "=1", "TMPDIR=" + t.TempDir()})
	stderr, err := p.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	lines, pattern := bufio.NewScanner(stderr), regexp.MustCompile(says)
	for lines.Scan() {
		if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
			go func() { // the pipe must not fill up
				for lines.Scan() {
				}
			}()
			return p, m[len(m)-1]
		}
	}
	t.Fatalf("%v ended without %q", args, says)
	return nil, ""
}

// C11: the service serves a repository that only a token, an SSH key or a GitHub App reads. It
// has the folder of a Secret with one of them, as the chart mounts it. Real Git asks a server that
// refuses everybody else.
func TestServesWhatATokenAnSSHKeyOrAGitHubAppReads(t *testing.T) {
	t.Parallel()
	repo := sourcetest.NewRepo(t)
	commit := repo.Commit(fleettest.TwoHubs())
	forge := repo.Server("fleet", "password-of-git", nil)
	ssh := sourcetest.NewSSH(t, filepath.Dir(repo.Dir))
	github, appKey := sourcetest.NewGitHub(t, repo)
	for name, c := range map[string]struct {
		source string
		secret map[string]string
	}{
		"token": {forge.URL + "/.git", map[string]string{"username": "fleet", "password": "password-of-git"}},
		"ssh key": {
			"ssh://git@" + ssh.Address + "/work",
			map[string]string{"identity": string(ssh.Identity), "known_hosts": ssh.KnownHosts(ssh.HostKey)},
		},
		"github app": {github.URL + "/.git", map[string]string{
			"githubAppID": sourcetest.AppID, "githubAppInstallationID": sourcetest.AppInstallation, "githubAppPrivateKey": appKey, "githubAppEnterpriseBaseUrl": github.URL,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			credentials := t.TempDir()
			for file, text := range c.secret {
				sourcetest.Check(t, os.WriteFile(filepath.Join(credentials, file), []byte(text), 0o400))
			}
			_, address := process(t, []string{"PATH=" + os.Getenv("PATH")}, `^generator-plugin: serving git ".*" at (http://127\.0\.0\.1:\d+), revision `+commit,
				"--source", c.source, "--git-credentials", credentials, "--hub", "hub-1", "--token-file", file(t, token+"\n"), "--listen", "127.0.0.1:0", "--drain-delay", "0s")
			if code, body := query(t, address, "members"); code != http.StatusOK || !strings.Contains(body, `"revision":"`+commit) {
				t.Errorf("%d %.300s; want %s", code, body, commit)
			}
		})
	}
}

// TestReadsACommitThatNoPollHasSeen: a commit that its hub has announced to an agent is read by its
// id, with the credentials of the repository, and nothing else is. (G7)
func TestReadsACommitThatNoPollHasSeen(t *testing.T) {
	t.Parallel()
	repo := sourcetest.NewRepo(t)
	skipped := repo.Commit(fleettest.TwoHubs())
	repo.Commit(map[string]string{"fleet/fleet-members/hub-1/c.yaml": "clusterName: c\ntenant: retail\nenvironment: dev\n"})
	forge := repo.Server("fleet", "password-of-git", nil)
	credentials := t.TempDir()
	sourcetest.Write(t, credentials, map[string]string{"username": "fleet", "password": "password-of-git"})
	f := &flags{repository: git.Options{Location: forge.URL + "/.git", Ref: "main", Credentials: credentials}}
	s, err := f.readRevision(t.Context(), skipped)
	if err != nil || s.Revision != skipped {
		t.Fatalf("%v; want %s", err, skipped)
	}
	for _, name := range []string{"--upload-pack=touch x", "0000000000000000000000000000000000000001"} {
		if _, err := f.readRevision(t.Context(), name); err == nil {
			t.Errorf("%q was read", name)
		}
	}
}

func TestGitUsageErrors(t *testing.T) {
	for want, args := range map[string][]string{
		`git "https://example.org/x?...": the URL has a query`: {"https://example.org/x?token=hidden"},
		`ref "a b" is not a valid name`:                        {"https://example.org/x", "--ref", "a b"},
	} {
		var stdout, stderr strings.Builder
		args = append([]string{"--hub", "h", "--token-file", file(t, token), "--source"}, args...)
		if code := run(t.Context(), args, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) || strings.Contains(stderr.String(), "hidden") {
			t.Errorf("%v: %d, %s; want %q", args, code, stderr.String(), want)
		}
	}
}

// What a service without --source-signers has accepted is not served by one with it, from the state
// either.
func TestStateOfUnsignedCommitsIsNotServed(t *testing.T) {
	repo := sourcetest.NewRepo(t)
	commit := repo.Commit(fleettest.TwoHubs())
	args := []string{
		"--source", repo.URL(), "--hub", "hub-1", "--token-file", file(t, token+"\n"),
		"--state-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--drain-delay", "0s",
	}
	env := []string{"PATH=" + os.Getenv("PATH")}
	anyone, _ := process(t, env, `^generator-plugin: serving git .*, revision `+commit, args...)
	sourcetest.Check(t, anyone.Process.Signal(os.Interrupt))
	sourcetest.Check(t, anyone.Wait())
	signers := file(t, "owner@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n")
	if _, first := process(t, env, `(msg=serving|reason=unsigned)`, append(args, "--source-signers", signers)...); !strings.Contains(first, "reason=unsigned") {
		t.Errorf("%s: an unsigned commit is served", first)
	}
}

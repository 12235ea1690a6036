package git

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// Git over ssh with an identity and known hosts from a folder; an unknown host, an open identity
// file and a refused key are distinct errors (G5). OpenSSH's client is the real one.
func TestRepositoryOverSSH(t *testing.T) {
	r := sourcetest.NewRepo(t)
	want := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	server := sourcetest.NewSSH(t, filepath.Dir(r.Dir))
	location := "ssh://git@" + server.Address + "/work"
	t.Setenv("SSH_AUTH_SOCK", "")

	credentials := func(t *testing.T, identity []byte, known string, mode os.FileMode) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "a folder")
		sourcetest.Write(t, dir, map[string]string{"known_hosts": known})
		sourcetest.Check(t, os.WriteFile(filepath.Join(dir, "identity"), identity, 0o600))
		sourcetest.Check(t, os.Chmod(filepath.Join(dir, "identity"), mode))
		return dir
	}
	other := sourcetest.NewSSH(t, t.TempDir())
	known := server.KnownHosts(server.HostKey)
	t.Run("good", func(t *testing.T) {
		g := openGit(t, Options{Location: location, Credentials: credentials(t, server.Identity, known, 0o600)})
		if s := sourcetest.Snapshot(t, g); s.Revision != want {
			t.Errorf("got %s, want %s", s.Revision, want)
		}
	})
	for name, c := range map[string]struct {
		dir, location, want string
		reason              source.Reason
	}{
		"other key":    {credentials(t, other.Identity, known, 0o600), location, "authentication failed; check the credentials folder", source.Authentication},
		"other host":   {credentials(t, server.Identity, server.KnownHosts(other.HostKey), 0o600), location, "the server's ssh host key is not known; add it to known_hosts", source.Authentication},
		"unknown host": {credentials(t, server.Identity, "", 0o600), location, "the server's ssh host key is not known; add it to known_hosts", source.Authentication},
		"open key":     {credentials(t, server.Identity, known, 0o644), location, "ssh refuses the identity file; make it readable only for its owner (mode 0400)", source.Authentication},
		"no such":      {credentials(t, server.Identity, known, 0o600), location + "/none", "no such repository; check the URL, and whether the credentials may see it", source.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				_, err := openGit(t, Options{Location: c.location, Credentials: c.dir}).Snapshot(sourcetest.Context(t))
				if want := fmt.Sprintf("git %q: %s", c.location, c.want); err == nil || err.Error() != want || !errors.Is(err, c.reason) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
		})
	}
}

// ssh without a server says so.
func TestSSHErrorsHaveStableTexts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	sourcetest.Check(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	sourcetest.Check(t, err)
	sourcetest.Check(t, l.Close())
	dir := t.TempDir()
	sourcetest.Write(t, dir, map[string]string{"identity": "key\n", "known_hosts": "\n"})
	location := "ssh://git:secret@127.0.0.1:" + port + "/fleet.git"
	_, err = openGit(t, Options{Location: location, Credentials: dir}).Snapshot(sourcetest.Context(t))
	if want := fmt.Sprintf("git %q: the server cannot be reached", "ssh://git@127.0.0.1:"+port+"/fleet.git"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = openGit(t, Options{Location: "git@host.invalid:fleet.git"}).Snapshot(sourcetest.Context(t))
	if err == nil || err.Error() != `git "git@host.invalid:fleet.git": host not found; check the URL and the name service` {
		t.Errorf("got %v", err)
	}
}

package git

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/sourcetest"
)

// sshServer serves repositories below a folder to the owner of a key, as a forge does.
type sshServer struct {
	address  string
	hostKey  ssh.PublicKey
	identity []byte // of the client, in PEM
}

func newSSHServer(t *testing.T, root string) *sshServer {
	t.Helper()
	signer := func() (ssh.Signer, []byte) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		sourcetest.Check(t, err)
		s, err := ssh.NewSignerFromKey(key)
		sourcetest.Check(t, err)
		block, err := ssh.MarshalPrivateKey(key, "")
		sourcetest.Check(t, err)
		return s, pem.EncodeToMemory(block)
	}
	host, _ := signer()
	client, identity := signer()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), client.PublicKey().Marshal()) {
			return nil, errors.New("another key")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	sourcetest.Check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveSSH(c, config, root)
		}
	}()
	return &sshServer{address: l.Addr().String(), hostKey: host.PublicKey(), identity: identity}
}

func serveSSH(c net.Conn, config *ssh.ServerConfig, root string) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for n := range channels {
		channel, requests, err := n.Accept()
		if err != nil {
			return
		}
		for q := range requests {
			command := ""
			if q.Type == "exec" {
				command, _ = strings.CutPrefix(string(q.Payload[4:]), "git-upload-pack ")
			}
			_ = q.Reply(command != "" || q.Type == "env", nil)
			if command == "" {
				continue
			}
			cmd := exec.Command("git", "upload-pack", filepath.Join(root, strings.Trim(command, "'")))
			cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
			stdin, err := cmd.StdinPipe() // not cmd.Stdin: Wait would wait for the client to end
			if err != nil || cmd.Start() != nil {
				return
			}
			go func() {
				_, _ = io.Copy(stdin, channel)
				_ = stdin.Close()
			}()
			status := []byte{0, 0, 0, 0}
			if cmd.Wait() != nil {
				status[3] = 128
			}
			_, _ = channel.SendRequest("exit-status", false, status)
			_ = channel.Close()
		}
	}
}

// knownHosts is the line of known_hosts for the server, with some key.
func (s *sshServer) knownHosts(key ssh.PublicKey) string {
	host, port, _ := net.SplitHostPort(s.address)
	return fmt.Sprintf("[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(key))
}

// Git over ssh with an identity and known hosts from a folder; an unknown host, an open identity
// file and a refused key are distinct errors (G5). OpenSSH's client is the real one.
func TestRepositoryOverSSH(t *testing.T) {
	r := sourcetest.NewRepo(t)
	want := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	server := newSSHServer(t, filepath.Dir(r.Dir))
	location := "ssh://git@" + server.address + "/work"
	t.Setenv("SSH_AUTH_SOCK", "")

	credentials := func(t *testing.T, identity []byte, known string, mode os.FileMode) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "a folder")
		sourcetest.Write(t, dir, map[string]string{"known_hosts": known})
		sourcetest.Check(t, os.WriteFile(filepath.Join(dir, "identity"), identity, 0o600))
		sourcetest.Check(t, os.Chmod(filepath.Join(dir, "identity"), mode))
		return dir
	}
	other := newSSHServer(t, t.TempDir())
	known := server.knownHosts(server.hostKey)
	t.Run("good", func(t *testing.T) {
		g := openGit(t, Options{Location: location, Credentials: credentials(t, server.identity, known, 0o600)})
		if s := sourcetest.Snapshot(t, g); s.Revision != want {
			t.Errorf("got %s, want %s", s.Revision, want)
		}
	})
	for name, c := range map[string]struct {
		dir, location, want string
		reason              source.Reason
	}{
		"other key":    {credentials(t, other.identity, known, 0o600), location, "authentication failed; check the credentials folder", source.Authentication},
		"other host":   {credentials(t, server.identity, server.knownHosts(other.hostKey), 0o600), location, "the server's ssh host key is not known; add it to known_hosts", source.Authentication},
		"unknown host": {credentials(t, server.identity, "", 0o600), location, "the server's ssh host key is not known; add it to known_hosts", source.Authentication},
		"open key":     {credentials(t, server.identity, known, 0o644), location, "ssh refuses the identity file; make it readable for its owner alone (mode 0400)", source.Authentication},
		"no such":      {credentials(t, server.identity, known, 0o600), location + "/none", "no such repository; check the URL, and whether the credentials may see it", source.NotFound},
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

package sourcetest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// SSH serves repositories below a folder to the owner of a key, as a forge does.
type SSH struct {
	Address  string
	HostKey  ssh.PublicKey
	Identity []byte // of the client, in PEM
}

// NewSSH starts a server on 127.0.0.1.
func NewSSH(t testing.TB, root string) *SSH {
	t.Helper()
	signer := func() (ssh.Signer, []byte) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		Check(t, err)
		s, err := ssh.NewSignerFromKey(key)
		Check(t, err)
		block, err := ssh.MarshalPrivateKey(key, "")
		Check(t, err)
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
	Check(t, err)
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
	return &SSH{Address: l.Addr().String(), HostKey: host.PublicKey(), Identity: identity}
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

// KnownHosts returns the server's line of known_hosts, with the given key.
func (s *SSH) KnownHosts(key ssh.PublicKey) string {
	host, port, _ := net.SplitHostPort(s.Address)
	return fmt.Sprintf("[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(key))
}

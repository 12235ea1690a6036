package git

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// A password reaches the server, and nothing but the server: it is on no command line, in no file
// of the state directory and in no error.
func TestCredentialsStaySecret(t *testing.T) {
	const secret = "s3cr&t %24'\"\\x"
	folder := t.TempDir()
	sourcetest.Write(t, folder, map[string]string{"username": "fleet\n", "password": secret + "\n"})
	for name, o := range map[string]Options{
		"folder": {Credentials: folder},
		"url":    {},
	} {
		t.Run(name, func(t *testing.T) {
			r := sourcetest.NewRepo(t)
			want := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
			var mu sync.Mutex
			var exposed []string
			asked := 0
			server := r.Server("fleet", secret, func(*http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked++
				exposed = append(exposed, processes(t, "s3cr")...)
			})
			o.Location, o.StateDir = server.URL+"/.git", t.TempDir()
			if name == "url" {
				o.Location = strings.Replace(o.Location, "://", "://fleet:s3cr%26t%20%2524%27%22%5Cx@", 1)
			}
			if s := sourcetest.Snapshot(t, openGit(t, o)); s.Revision != want {
				t.Errorf("got %s, want %s", s.Revision, want)
			}
			if asked == 0 || len(exposed) > 0 {
				t.Errorf("%d requests with credentials; command lines that hold the secret: %q", asked, exposed)
			}
			sourcetest.Check(t, filepath.WalkDir(o.StateDir, func(p string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				data, err := os.ReadFile(p)
				if strings.Contains(string(data), "s3cr") {
					t.Errorf("%s holds the secret", p)
				}
				return err
			}))
		})
	}
}

// A rotated password is used from the next look on; a token needs no user name.
func TestRotatedCredentialsAreReadAnew(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	server := r.Server("git", "second", nil)
	folder := t.TempDir()
	sourcetest.Write(t, folder, map[string]string{"password": "first"})
	g := openGit(t, Options{Location: server.URL + "/.git", Credentials: folder})
	_, err := g.Snapshot(sourcetest.Context(t))
	if want := fmt.Sprintf("git %q: authentication failed; check the credentials folder", server.URL+"/.git"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	sourcetest.Write(t, folder, map[string]string{"password": "second"})
	sourcetest.Snapshot(t, g)
}

func TestCredentials_SSHCommand(t *testing.T) {
	c := credentials{dir: "/it's here", identity: true, knownHosts: true}
	want := `ssh -o BatchMode=yes -o ConnectTimeout=15 -i '/it'\''s here/identity' -o IdentitiesOnly=yes` +
		` -o StrictHostKeyChecking=yes -o 'UserKnownHostsFile="/it'\''s here/known_hosts"'`
	assert.Equal(t, want, c.sshCommand(""))
	assert.Equal(t, "ssh -F cfg -o BatchMode=yes -o ConnectTimeout=15", (credentials{}).sshCommand("ssh -F cfg"))
}

// clean is the last line of defence for messages of git's that have no meaning of their own here.
func TestClean(t *testing.T) {
	g := openGit(t, Options{Location: "https://u:hunter2@host/x"})
	for in, want := range map[string]string{
		"bad https://a:b@host/x":                "bad https://***@host/x",
		"password hunter2 is bad":               "password *** is bad",
		"cannot open " + g.mirror + "/objects":  "cannot open mirror/objects",
		"cannot open " + g.base + "/x":          "cannot open state/x",
		"no answer after 1234 ms from\n  there": "no answer from there",
		"":                                      "git failed without a message",
		strings.Repeat("x", 300):                strings.Repeat("x", 200) + "...",
	} {
		assert.Equal(t, want, g.clean(in), "%q", in)
	}
}

package plugin

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
)

const maxToken = 4096

// referenceHint explains a token that begins with "$": Argo CD sends the text of the reference when the Secret has no
// such key (argo-cd's applicationset/services/plugin/plugin_service.go with util/settings, v2.14).
const referenceHint = `it begins with "$", a reference to a Secret's key that Argo CD could not resolve; see the key "token" of the plugin's ConfigMap`

// token is the bearer token of a file, which is read anew for each comparison: it is small, and neither size nor times
// tell reliably that a mounted Secret has changed.
type token struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	value   []byte // the last good one
	problem string // of the file now
}

func newToken(path string, log *slog.Logger) (*token, error) {
	t := &token{path: path, log: log}
	var err error
	t.value, err = readToken(path)
	return t, err
}

func readToken(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("token file %q: %w", path, cause(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	value := bytes.TrimRight(data, "\r\n")
	switch {
	case err != nil:
		return nil, fmt.Errorf("token file %q: %w", path, cause(err))
	case len(data) > maxToken:
		return nil, fmt.Errorf("token file %q: larger than %d bytes", path, maxToken)
	case len(value) == 0:
		return nil, fmt.Errorf("token file %q: it is empty", path)
	case value[0] == '$':
		return nil, fmt.Errorf("token file %q: %s", path, referenceHint)
	case bytes.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("token file %q: a token is one line of ASCII characters without spaces", path)
	}
	return value, nil
}

// cause is a file's error without its operation and path.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// current is the token now; the last good one while the file is bad (rule 4).
func (t *token) current() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	value, err := readToken(t.path) // with the lock: what was read first must not be taken for the newest
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == t.problem:
	case text == "":
		t.log.Info("token file is good again")
	default:
		t.log.Error("token file cannot be used; the last good token stays valid", "error", text)
	}
	t.problem = text
	if err == nil {
		if !bytes.Equal(value, t.value) {
			t.log.Info("token has been rotated")
		}
		t.value = value
	}
	return t.value
}

// is compares in constant time (rule 3).
func (t *token) is(presented string) bool {
	want, got := sha256.Sum256(t.current()), sha256.Sum256([]byte(presented))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// check is why a presented token is not accepted, nil if it is.
func (t *token) check(presented string) *failure {
	switch {
	case presented == "":
		return unauthorized("no bearer token: expected the header \"Authorization: Bearer <token>\"")
	case strings.HasPrefix(presented, "$"):
		return &failure{code: http.StatusForbidden, message: "the bearer token is refused: " + referenceHint}
	case !t.is(presented):
		return unauthorized("the bearer token is wrong")
	}
	return nil
}

// authorize checks the Authorization header.
func (t *token) authorize(r *http.Request) *failure { return t.check(bearer(r)) }

// authorizePassword checks the Authorization header of Flux Operator: of a Secret it sends the token as a bearer's, or
// username and password.
func (t *token) authorizePassword(r *http.Request) *failure {
	presented := bearer(r)
	if _, password, basic := r.BasicAuth(); basic {
		presented = strings.TrimSpace(password)
	}
	if presented == "" {
		return unauthorized(`no token: expected the header "Authorization: Bearer <token>", or Basic with the token as password`)
	}
	return t.check(presented)
}

func unauthorized(message string) *failure {
	return &failure{code: http.StatusUnauthorized, message: message, header: map[string]string{"WWW-Authenticate": "Bearer"}}
}

// bearer is the token of the Authorization header, "" without one.
func bearer(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(value)
}

// signed reports whether a body's HMAC is what a forge's header says: "sha256=" and the digest, made with the token.
func (t *token) signed(header string, body io.Reader) (bool, error) {
	digest, found := strings.CutPrefix(header, "sha256=")
	got, err := hex.DecodeString(digest)
	if !found || err != nil {
		return false, nil //nolint:nilerr // what is no signature is a wrong one
	}
	mac := hmac.New(sha256.New, t.current())
	if _, err := io.Copy(mac, body); err != nil {
		return false, err
	}
	return hmac.Equal(got, mac.Sum(nil)), nil
}

package web

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// The names of a session's cookie. With TLS, its name makes browsers insist on Secure and on this
// host.
const (
	plainCookie  = "argosy-session"
	secureCookie = "__Host-argosy-session"
)

func (s *Site) cookieName() string {
	if s.o.TLS != nil {
		return secureCookie
	}
	return plainCookie
}

// sessionKeys are the keys that seal sessions. They are random and do not depend on a token.
// Replicas share the first one by the state store, where there is one.
type sessionKeys struct {
	mu    sync.Mutex
	keys  [][]byte // the first one seals, each one opens
	saved *store.Replicated[savedKey]
}

const keySize = 32

// savedKey is the record of a key.
type savedKey struct {
	Key []byte `json:"key"`
}

// newSessionKeys returns a new key, which is replaced by the key in the store if there is one.
func newSessionKeys(o Options) *sessionKeys {
	k := &sessionKeys{keys: [][]byte{make([]byte, keySize)}}
	_, _ = rand.Read(k.keys[0]) // never fails since Go 1.24
	so := store.Options[savedKey]{Merge: k.merge, Value: k.value, Log: o.Logger, Loss: "all sessions end"}
	if o.Store != nil && o.Store.Shared() {
		so.Interval = recordEvery
	}
	k.saved = store.Replicate(o.Store, "session-key", 1, so)
	k.saved.Changed() // a store without a key gets this one
	return k
}

// merge adopts the key of the store; sessions that an own key has sealed stay valid here.
func (k *sessionKeys) merge(saved *savedKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(saved.Key) == keySize && !bytes.Equal(saved.Key, k.keys[0]) {
		k.keys = [][]byte{saved.Key, k.keys[0]}
	}
}

func (k *sessionKeys) value() (savedKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return savedKey{k.keys[0]}, true
}

// ciphers returns the ciphers of sessions.
func (k *sessionKeys) ciphers() ([]cipher.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []cipher.AEAD
	for _, key := range k.keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		out = append(out, aead)
	}
	return out, nil
}

// newSession returns the cookie of a session with a token.
func (s *Site) newSession(token string) (*http.Cookie, error) {
	ciphers, err := s.sessions.ciphers()
	if err != nil {
		return nil, err
	}
	plain := binary.BigEndian.AppendUint64(nil, uint64(s.o.Now().Add(sessionAge).Unix())) //nolint:gosec // not before 1970
	sealed := ciphers[0].Seal(nil, nil, append(plain, token...), nil)
	return s.cookie(base64.RawURLEncoding.EncodeToString(sealed)), nil
}

// cookie returns the session's cookie with a value; an empty value removes it.
func (s *Site) cookie(value string) *http.Cookie {
	c := &http.Cookie{Name: s.cookieName(), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.o.TLS != nil}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// sessionToken returns the token of a request's session, empty without a valid one.
func (s *Site) sessionToken(r *http.Request) string {
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return ""
	}
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return ""
	}
	ciphers, err := s.sessions.ciphers()
	if err != nil {
		return ""
	}
	var plain []byte
	for _, aead := range ciphers {
		if opened, err := aead.Open(nil, nil, sealed, nil); err == nil {
			plain = opened
		}
	}
	if len(plain) <= 8 {
		return ""
	}
	ends := time.Unix(int64(binary.BigEndian.Uint64(plain)), 0) //nolint:gosec // newSession wrote it
	if !s.o.Now().Before(ends) {
		return ""
	}
	return string(plain[8:])
}

// authenticate returns the bearer of a request, and counts failures of wrong tokens.
func (s *Site) authenticate(r *http.Request) (*access.Bearer, *failure) {
	bearer, f := s.bearer(r)
	if f == nil {
		if err := bearer.Route(access.Web); err != nil {
			return nil, &failure{Code: http.StatusForbidden, Message: err.Error(), Hint: "A token for these pages has the route \"web\" in the tokens file."}
		}
	} else if f.Code == http.StatusUnauthorized && access.BearerToken(r) != "" {
		f, _ = s.gate.Failed(f)
	}
	return bearer, f
}

// bearer returns the bearer of a request. A trusted proxy's header comes first, then the header
// Authorization, then the session.
func (s *Site) bearer(r *http.Request) (*access.Bearer, *failure) {
	if bearer, f := s.proxied(r); bearer != nil || f != nil {
		return bearer, f
	}
	token := access.BearerToken(r)
	if token == "" {
		token = s.sessionToken(r)
	}
	if token == "" {
		return nil, httpserver.Unauthorized("no token: sign in, or send the header \"Authorization: Bearer <token>\"")
	}
	if bearer := s.o.Tokens.Find(token); bearer != nil {
		return bearer, nil
	}
	return nil, httpserver.Unauthorized("the token is wrong, or has been revoked")
}

// signInPage shows the form. After signing in, the reader gets the page requested first.
func (s *Site) signInPage(w http.ResponseWriter, r *http.Request) {
	s.writePage(w, r, http.StatusOK, "signin", page{Title: "Sign in", Model: signIn{Next: local(r.URL.Query().Get("next"))}})
}

// signIn is the model of the form.
type signIn struct{ Next, Message string }

// signIn begins a session with the token of the form.
func (s *Site) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	model := signIn{Next: local(r.PostFormValue("next"))}
	token := strings.TrimSpace(r.PostFormValue("token"))
	code := http.StatusUnauthorized
	bearer := s.o.Tokens.Find(token)
	switch {
	case token == "" || len(token) > maxToken:
		code, model.Message = http.StatusBadRequest, "Enter a token."
	case bearer == nil:
		f, _ := s.gate.Failed(&failure{Code: code, Message: "This token is not known. Check that you copied all of it, or ask the platform team for a new one."})
		code, model.Message = f.Code, f.Message
	case bearer.Route(access.Web) != nil:
		code, model.Message = http.StatusForbidden, bearer.Route(access.Web).Error()+". Ask the platform team for a token with this route."
	default:
		if cookie, err := s.newSession(token); err == nil {
			http.SetCookie(w, cookie)
			http.Redirect(w, r, model.Next, http.StatusSeeOther)
			return
		}
		code, model.Message = http.StatusInternalServerError, "The session cannot be made."
	}
	s.writePage(w, r, code, "signin", page{Title: "Sign in", Model: model})
}

// signOut ends the session.
func (s *Site) signOut(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, s.cookie(""))
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// local returns a path on this site; the first page for everything else.
func local(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

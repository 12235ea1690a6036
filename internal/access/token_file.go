package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/argosy-hub/argosy/internal/reload"
)

const maxToken = 4096

// ReferenceHint explains a token that begins with "$": Argo CD sends the text of the reference when
// the Secret has no such key (argo-cd's applicationset/services/plugin/plugin_service.go with
// util/settings, v2.14).
const ReferenceHint = `it begins with "$", a reference to a Secret's key that Argo CD could not resolve; see the key "token" of the plugin's ConfigMap`

// token is the token file's value.
type token struct {
	value []byte
	hash  [sha256.Size]byte
}

// matches compares in constant time.
func (t token) matches(hash [sha256.Size]byte) bool {
	return subtle.ConstantTimeCompare(t.hash[:], hash[:]) == 1
}

// tokenFile is the file of the token that may ask everything. It is read again once in a while.
type tokenFile struct {
	*reload.File[token]
	age time.Duration // how old the last look may be
}

func openTokenFile(path string, age time.Duration, log *slog.Logger, now func() time.Time, rotated func(string)) (*tokenFile, error) {
	source := reload.Source{Kind: "token file", Path: path, Limit: maxToken}
	f, err := reload.Open(reload.Options[token]{
		Sources: []reload.Source{source},
		Parse: func(contents [][]byte) (token, error) {
			value, err := parseToken(contents[0])
			if err != nil {
				return token{}, source.Error(err)
			}
			return token{value, sha256.Sum256(value)}, nil
		},
		Log: log, Now: now, Changed: rotated,
	})
	return &tokenFile{f, age}, err
}

// is reports whether a hash is that of the token. A value that no other token has may be a new
// token: then the file is read at once, so that nobody waits after a rotation.
func (f *tokenFile) is(hash [sha256.Size]byte, elsewhere bool) bool {
	t, read := f.Recent(f.age)
	return t.matches(hash) || !elsewhere && !read && f.Current().matches(hash)
}

// parseToken checks the content of a token's file.
func parseToken(data []byte) ([]byte, error) {
	value := bytes.TrimRight(data, "\r\n")
	switch {
	case len(data) > maxToken:
		return nil, fmt.Errorf("larger than %d bytes", maxToken)
	case len(value) == 0:
		return nil, errors.New("it is empty")
	case value[0] == '$':
		return nil, errors.New(ReferenceHint)
	case bytes.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("a token is one line of ASCII characters without spaces")
	}
	return value, nil
}

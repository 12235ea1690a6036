package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/argosy-hub/argosy/internal/base/disk"
)

const maxToken = 4096

// ReferenceHint explains a token that begins with "$": Argo CD sends the text of the reference when
// the Secret has no such key (argo-cd's applicationset/services/plugin/plugin_service.go with
// util/settings, v2.14).
const ReferenceHint = `it begins with "$", a reference to a Secret's key that Argo CD could not resolve; see the key "token" of the plugin's ConfigMap`

// token is the value of the token file.
type token struct {
	value []byte
	hash  [sha256.Size]byte
}

// matches reports in constant time whether the token has a hash.
func (t token) matches(hash [sha256.Size]byte) bool {
	return subtle.ConstantTimeCompare(t.hash[:], hash[:]) == 1
}

// tokenFile is the file of the token that may query everything. It is read again once in a while.
type tokenFile struct {
	*disk.File[token]
	age time.Duration // after which the file is checked again
}

func openTokenFile(path string, age time.Duration, log *slog.Logger, now func() time.Time, rotated func(string)) (*tokenFile, error) {
	source := disk.Source{Kind: "token file", Path: path, Limit: maxToken}
	f, err := disk.Open(disk.Options[token]{
		Sources: []disk.Source{source},
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

// is reports whether a hash is the token's. A value that no other token has may be a new token:
// then the file is read at once, so that a client need not wait after a rotation.
func (f *tokenFile) is(hash [sha256.Size]byte, elsewhere bool) bool {
	t, read := f.Recent(f.age)
	return t.matches(hash) || !elsewhere && !read && f.Current().matches(hash)
}

// parseToken checks and returns the content of a token's file.
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
	if bits := estimate(value); bits < MinBits {
		why := fmt.Sprintf("%d characters of their kind have at most %d bits", len(value), bits)
		if bits == 0 {
			why = fmt.Sprintf("it has fewer than %d different characters", minDistinct)
		}
		return nil, fmt.Errorf("it can be guessed: %s; expected at least %d bits, as openssl rand -hex 16 makes them", why, MinBits)
	}
	return value, nil
}

// MinBits is the least strength of a token. An attacker who has data that it signed or sealed
// cannot try 2^MinBits values.
const MinBits = 128

// minDistinct is how many different characters a token has at least; random tokens have more.
const minDistinct = 8

// estimate returns the strength of a random token in bits, 0 if the token is not random. It is the
// length times the bits of a character: 3.3 for digits, 4 for hexadecimal digits, 6 if letters of
// both cases occur, else 5.
func estimate(value []byte) int {
	has := func(set string) bool { return bytes.ContainsAny(value, set) }
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	only := func(set string) bool { return len(bytes.Trim(value, set)) == 0 }
	tenths := 50
	switch {
	case only(digits):
		tenths = 33
	case only(digits + "abcdef"), only(digits + "ABCDEF"):
		tenths = 40
	case has(lower) && has(upper):
		tenths = 60
	}
	distinct := map[byte]bool{}
	for _, b := range value {
		distinct[b] = true
	}
	if len(distinct) < minDistinct {
		return 0
	}
	return len(value) * tenths / 10
}

package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"io"
)

// Signer returns the index of the secret that a body was signed with, -1 if there is none. The
// error is from reading the body.
func Signer(secrets [][]byte, signature []byte, body io.Reader) (int, error) {
	if len(signature) != sha256.Size {
		return -1, nil // malformed, whatever the body
	}
	macs, writers := make([]hash.Hash, len(secrets)), make([]io.Writer, len(secrets))
	for i, secret := range secrets {
		macs[i] = hmac.New(sha256.New, secret)
		writers[i] = macs[i]
	}
	if _, err := io.Copy(io.MultiWriter(writers...), body); err != nil {
		return -1, err
	}
	signer := -1
	for i, mac := range macs {
		if hmac.Equal(signature, mac.Sum(nil)) {
			signer = i
		}
	}
	return signer, nil
}

package generator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// Fingerprint is a text that is the same for two States if they answer a request alike, but for the revision; or if
// both refuse it for the same reason.
func (st *State) Fingerprint(r Request) string {
	key, _ := r.key() // if it fails, so does Answer
	if text, ok := st.answers.print(key); ok {
		return text
	}
	answer, err := st.Answer(r)
	if err != nil {
		return "error: " + err.Error()
	}
	text := fingerprint(answer)
	st.answers.putPrint(key, rememberedPrint{r.about(), text})
	return text
}

// fingerprint is that of an answer.
func fingerprint(answer []byte) string {
	// A set's digest tells all of it but the revision. Inside a text its key's quotes are escaped; where one stands
	// elsewhere in a set, it is part of the set, and of what the digest tells.
	key := []byte(`"digest":"`)
	sum := sha256.New()
	for {
		_, rest, ok := bytes.Cut(answer, key)
		if !ok {
			return hex.EncodeToString(sum.Sum(nil))
		}
		value, rest, _ := bytes.Cut(rest, []byte{'"'})
		sum.Write(value)
		sum.Write([]byte{0})
		answer = rest
	}
}

package generator

import (
	"crypto/sha256"
	"encoding/hex"
)

// Fingerprint is a text that is the same for two States if they answer a request alike, but for the revision; or if
// both refuse it for the same reason.
func (st *State) Fingerprint(r Request) string {
	key, _ := r.key() // if it fails, so does Told
	if text, ok := st.answers.print(key); ok {
		return text
	}
	told, err := st.Told(r)
	if err != nil {
		return "error: " + err.Error()
	}
	text := told.Fingerprint()
	st.answers.putPrint(key, rememberedPrint{r.about(), text})
	return text
}

// Fingerprint is that of an answer. A set's digest tells all of it but the revision.
func (t *Told) Fingerprint() string {
	sum := sha256.New()
	for _, p := range t.parts {
		sum.Write(p.digests)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

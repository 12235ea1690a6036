package generator

import (
	"crypto/sha256"
	"testing"
)

// What a State remembers is bounded, and counted once (H10).
func TestAnswersAreBounded(t *testing.T) {
	key := func(i byte) [sha256.Size]byte { return sha256.Sum256([]byte{i}) }
	a := newAnswers()
	half := make([]byte, maxAnswerBytes/2)
	for range 3 { // computed by several requests at once
		a.put(key(1), half)
	}
	if *a.size != len(half) || len(a.bytes) != 1 {
		t.Errorf("one answer of %d bytes counts as %d of %d bytes", len(half), len(a.bytes), *a.size)
	}
	a.put(key(2), make([]byte, maxAnswerBytes+1))
	if _, ok := a.get(key(2)); ok {
		t.Error("an answer larger than the limit is remembered")
	}
	if _, ok := a.get(key(1)); !ok {
		t.Error("an answer that cannot be remembered drove another one out")
	}
	a.put(key(3), half)
	a.put(key(4), half)
	if *a.size > maxAnswerBytes {
		t.Errorf("%d bytes are remembered, at most %d", *a.size, maxAnswerBytes)
	}
}

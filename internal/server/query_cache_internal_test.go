package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/query"
)

// H10: so many bytes of bodies are remembered, and none that is large.
func TestQueryCacheIsBounded(t *testing.T) {
	t.Parallel()
	var b queryCache
	ask := func(i int) query.Query { return query.Query{Component: fmt.Sprint(i)} }
	body := func(i, size int) []byte { return []byte(fmt.Sprint(i) + strings.Repeat("x", size-len(fmt.Sprint(i)))) }
	for i := range 3 * maxCachedBytes / 1000 {
		text := body(i, 1000)
		b.put(text, ask(i))
		b.put(text, ask(i)) // counts once
		text[0] = '?'       // is not the one that is remembered
		if r, ok := b.get(body(i, 1000)); !ok || r.Component != fmt.Sprint(i) {
			t.Fatalf("%d: %v %v", i, r, ok)
		}
		if b.bytes > maxCachedBytes || b.bytes != 1000*len(b.known) {
			t.Fatalf("%d bytes of %d bodies are remembered", b.bytes, len(b.known))
		}
	}
	if _, ok := b.get(body(0, 1000)); ok {
		t.Error("the first one is still known")
	}
	for size, want := range map[int]bool{maxCachedBody: true, maxCachedBody + 1: false} {
		b.put(body(-1, size), ask(0))
		if _, ok := b.get(body(-1, size)); ok != want {
			t.Errorf("%d bytes: %v", size, ok)
		}
	}
}

package access

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func TestPace(t *testing.T) {
	t.Parallel()
	b := &Bearer{limiter: rate.NewLimiter(0.01, 1)}
	if _, ok := b.Pace(t.Context(), time.Hour); !ok {
		t.Error("the first")
	}
	for range 3 { // a refusal takes nothing from those who come later
		if retry, ok := b.Pace(t.Context(), time.Second); ok || retry < 90*time.Second || retry > 100*time.Second {
			t.Errorf("%s %v", retry, ok)
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 3 {
		if retry, ok := b.Pace(gone, time.Hour); ok || retry > 100*time.Second {
			t.Errorf("who has gone: %s %v", retry, ok)
		}
	}
	var nobody *Bearer
	if _, ok := nobody.Pace(t.Context(), time.Hour); ok {
		t.Error("nobody")
	}
}

// Nothing is allowed to nobody: what forgets to ask whose request it is, answers nothing.
func TestNobodyMayNothing(t *testing.T) {
	t.Parallel()
	var b *Bearer
	if b.Hub("") == nil || b.Label() != "" {
		t.Error("nobody sees something")
	}
	f := &fleet.Fleet{}
	for _, b := range []*Bearer{nil, {}} {
		_, err := b.Cluster("", "c", "g", f)
		for what, allowed := range map[string]bool{
			"clusters": b.Sees("h", "c", "t"), "a group": b.SeesGroup("g"), "all": b.SeesEverything() || b.Restricted() == nil, "a route": b.Route(Explain) == nil,
			"a query": b.Ask(query.Query{View: query.Members}, f) == nil, "a cluster": err == nil, "an artifact": b.Repository("h", "hub", f) == nil,
			"a hub": b.Hub("h") == nil, "a whole hub": b.Whole("h") == nil, "problems": !b.Withholds([]problem.Problem{{}}, f),
		} {
			if allowed {
				t.Errorf("%v sees %s", b, what)
			}
		}
	}
}

// The tokens folder is looked at once in a while, not with every request: those may come from
// anybody.
func TestTokensAreLookedAtOnceInAWhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	o := Options{TokenFile: write("token", "the-token-of-the-token-file"), TokensDir: dir, Log: slog.New(slog.DiscardHandler)}
	o.TokensFile = write("tokens.yaml", "apiVersion: argosy.dev/v1alpha1\nkind: Tokens\ntokens:\n- {name: a, files: [a], allow: {routes: [fleet]}}\n")
	const old, next = "the-old-value-of-the-token-a", "the-next-value-of-the-token-a"
	write("a", old)
	tokens, err := Open(o)
	require.NoError(t, err)
	clock := tokens.looked
	tokens.now = func() time.Time { return clock }
	write("a", next)
	for after, want := range map[time.Duration]string{0: old, DefaultReload - 1: old} {
		clock = tokens.looked.Add(after)
		if tokens.Find(want) == nil || tokens.Find(next) != nil {
			t.Errorf("after %s it has been looked at", after)
		}
	}
	clock = tokens.looked.Add(DefaultReload)
	if tokens.Find(old) != nil || tokens.Find(next) == nil {
		t.Error("it has not been looked at")
	}
	clock = clock.Add(-time.Hour) // the clock has been set back
	write("a", old)
	if tokens.Find(old) == nil {
		t.Error("it waits for the old time to come again")
	}
}

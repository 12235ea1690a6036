package guard

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/state"
)

// sharedStore is a folder that replicas of one process share.
type sharedStore struct{ *state.Folder }

func (sharedStore) Shared() bool { return true }

func newTestBaselines(t testing.TB, s state.Store) *baselines {
	t.Helper()
	b, err := newBaselines(Options{Store: s, Logger: quiet, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// putExamples remembers a response that has lost something, and an empty one.
func putExamples(b *baselines) {
	b.put(`{"Engine":"argocd"}`, "r1", []lifecycle.Item{{Cluster: "c1", Group: "addons", Component: "dns", Release: "default"}},
		[]spent{{lifecycle.Item{Cluster: "c2", Group: "addons", Component: "dns"}, now}})
	b.put(`{"Engine":"flux"}`, "r1", nil, nil)
}

// Rule 9: replicas have the newest response to each query, and a record that one of them dropped
// stays dropped.
func TestReplicasShareLastResponses(t *testing.T) {
	s := sharedStore{folder(t, t.TempDir())}
	first, second := newTestBaselines(t, s), newTestBaselines(t, s)
	if first.isReady() {
		t.Error("ready before the store has been read")
	}
	first.sync(t.Context())
	putExamples(first)
	first.sync(t.Context())
	second.sync(t.Context())
	if !second.isReady() || len(second.of(`{"Engine":"argocd"}`)) != 1 {
		t.Errorf("%+v", second.stats())
	}
	later := func() time.Time { return now.Add(time.Second) }
	first.now, second.now = later, later
	second.drop(`{"Engine":"argocd"}`)
	second.sync(t.Context())
	first.sync(t.Context())
	if first.of(`{"Engine":"argocd"}`) != nil || first.stats().Baselines != 1 {
		t.Errorf("dropped, and not forgotten: %+v", first.stats())
	}
}

// FuzzResponses (rule 9): of a forged record with the right checksum all is taken in or nothing,
// and damage is reported once. What is taken in is written as it was, but for times in the future.
func FuzzResponses(f *testing.F) {
	dir := f.TempDir()
	good := sharedStore{folder(f, dir)}
	b := newTestBaselines(f, good)
	putExamples(b)
	b.sync(f.Context())
	record, _, err := good.Read(f.Context(), sharedRecord)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record)
	for _, change := range [][2]string{
		{"responses/2", "responses/3"},
		{`"dns","default"`, `"dns"`},
		{`\"flux\"`, `\"argocd\"`},
		{`"at":1`, `"at":9`},
		{`"at":1`, `"at":-1`},
		{`"1`, `"x`},
		{`]}`, `]}{}`},
		{`"revision":"r1"`, `"revision":"r1","more":1`},
		{`"items":[]`, `"items":[],"dropped":true`},
	} {
		changed := bytes.Replace(record, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(changed, record) {
			f.Fatalf("%s is not in %s", change[0], record)
		}
		f.Add(changed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := sharedStore{folder(t, t.TempDir())}
		if _, err := s.Write(t.Context(), sharedRecord, data, ""); err != nil {
			t.Fatal(err)
		}
		b := newTestBaselines(t, s)
		b.sync(t.Context())
		if b.stats().Damaged > 0 {
			if len(b.byQuery) > 0 || b.items > 0 || b.stats().Damaged > 1 {
				t.Fatalf("%q: half of it is taken in, or it is reported %d times", data, b.stats().Damaged)
			}
			return
		}
		early := false
		for q, r := range b.byQuery {
			if r.at > now.UnixNano() || r.dropped && b.of(q) != nil {
				t.Fatalf("%q: %q is of %s", data, q, time.Unix(0, r.at))
			}
			early = early || r.at == now.UnixNano() || r.dropped
		}
		if again, _, err := s.Read(t.Context(), sharedRecord); !early && (err != nil || !bytes.Equal(again, data)) {
			t.Fatalf("%q is written as %q, %v", data, again, err)
		}
	})
}

// Rule 9: a query's own record that is changed, cut off, or another query's is reported and left
// unread; the others count.
func TestDamagedRecordsAreReported(t *testing.T) {
	const query = `{"Engine":"argocd"}`
	for name, damage := range map[string]func(path string, data []byte) error{
		"a byte":  func(p string, b []byte) error { b[len(b)-5] ^= 1; return os.WriteFile(p, b, 0o600) },
		"cut off": func(p string, b []byte) error { return os.WriteFile(p, b[:len(b)-1], 0o600) },
		"empty":   func(p string, _ []byte) error { return os.WriteFile(p, nil, 0o600) },
		"another format": func(p string, b []byte) error {
			return os.WriteFile(p, bytes.Replace(b, []byte(" 1 "), []byte(" 2 "), 1), 0o600)
		},
		"another query's": func(p string, _ []byte) error {
			other, err := os.ReadFile(filepath.Join(filepath.Dir(p), recordOf(`{"Engine":"flux"}`)+".record"))
			return errors.Join(err, os.WriteFile(p, other, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			putExamples(newTestBaselines(t, folder(t, dir)))
			path := filepath.Join(dir, recordOf(query)+".record")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(path, data); err != nil {
				t.Fatal(err)
			}
			b := newTestBaselines(t, folder(t, dir))
			if st := b.stats(); st.Damaged != 1 || st.Baselines != 1 || b.of(query) != nil {
				t.Errorf("%+v", st)
			}
			putExamples(b)
			if st := newTestBaselines(t, folder(t, dir)).stats(); st.Damaged != 0 || st.Baselines != 2 {
				t.Errorf("it is not replaced: %+v", st)
			}
		})
	}
}

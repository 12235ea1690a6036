package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/state"
)

// answered is a store that remembers an answer, one that has lost something, and one to another question.
func answered(t testing.TB, o Options) *store {
	t.Helper()
	o.Logger, o.Now = quiet, func() time.Time { return now }
	s, err := openStore(o)
	if err != nil {
		t.Fatal(err)
	}
	s.put(question(`{"Engine":"argocd"}`), "r1", []generator.Subject{{Cluster: "c1", Group: "addons", Component: "dns", Release: "default"}},
		[]spent{{had{cluster: "c2", group: "addons", component: "dns"}, now}})
	s.put(question(`{"Engine":"flux"}`), "r1", nil, nil)
	return s
}

// FuzzRecord (rule 9): a file of the folder that is changed, cut off, or written by somebody else with the right checksum, is
// one damaged record and no answer; or it is read whole, as it would be written.
func FuzzRecord(f *testing.F) {
	dir := f.TempDir()
	answered(f, Options{Dir: dir})
	files, err := filepath.Glob(dir + "/*" + recordSuffix)
	if err != nil || len(files) != 2 {
		f.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		_, body, _ := bytes.Cut(data, []byte("\n"))
		f.Add(data, false)
		f.Add(data[:len(data)-1], false)
		f.Add(bytes.Replace(data, []byte(" 1 "), []byte(" 2 "), 1), false)
		f.Add(body, true)
		f.Add(bytes.Replace(body, []byte(`"dns","default"`), []byte(`"dns"`), 1), true)
		f.Add(bytes.Replace(body, []byte(`"1`), []byte(`"x`), 1), true)
		f.Add(append(body, `{}`...), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed {
			data = append(fmt.Appendf(nil, "%s %s %s\n", format, version, checksum(data)), data...)
		}
		// Under the name of the question that it is of, if it says so.
		var is content
		_, body, _ := bytes.Cut(data, []byte("\n"))
		_ = json.Unmarshal(body, &is)
		q := is.Question
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileOf(q)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openStore(Options{Dir: dir, Logger: quiet, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		if st := s.stats(); st.Damaged+st.Baselines != 1 || (s.get(q) == nil) != (st.Baselines == 0) {
			t.Fatalf("%q: %+v", data, st)
		}
		if s.records[q] == nil {
			return
		}
		if err := s.write(q, s.records[q]); err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(filepath.Join(dir, fileOf(q))); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q is read as %q, %v", data, again, err)
		}
	})
}

// FuzzAnswers (rule 9): of a room's record all is taken in, or nothing. What is taken in is written as it was, but for times
// that have not come yet.
func FuzzAnswers(f *testing.F) {
	s := answered(f, Options{State: state.NewChunked(nil)})
	good, err := s.text(now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for _, change := range [][2]string{
		{`"version":1`, `"version":2`},
		{`"dns","default"`, `"dns"`},
		{`"flux"`, `"argocd"`},
		{`"at":1`, `"at":9`},
		{`"at":1`, `"at":-1`},
		{`"1`, `"x`},
		{`]}`, `]}{}`},
		{`"revision":"r1"`, `"revision":"r1","more":1`},
		{`"had":[]`, `"had":[],"gone":true`},
	} {
		f.Add(bytes.Replace(good, []byte(change[0]), []byte(change[1]), 1))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := openStore(Options{State: state.NewChunked(nil), Logger: quiet, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.take(data, now); err != nil {
			if len(s.records) > 0 || s.held > 0 {
				t.Fatalf("%q: half of it is taken in", data)
			}
			return
		}
		early := false
		for q, r := range s.records {
			if r.at > now.UnixNano() || r.gone && s.get(q) != nil {
				t.Fatalf("%q: %q is of %s", data, q, time.Unix(0, r.at))
			}
			early = early || r.at == now.UnixNano() || r.gone
		}
		if text, err := s.text(now); !early && (err != nil || !bytes.Equal(text, data)) {
			t.Fatalf("%q is taken in as %q, %v", data, text, err)
		}
	})
}

package atomicfile

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Of several writers of one file exactly one succeeds, its content is whole, and nothing else is
// left behind.
func TestCreateSucceedsForOneWriter(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	var written atomic.Int32
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			data := make([]byte, 1<<16)
			for j := range data {
				data[j] = byte('a' + i)
			}
			if Create(dir, "a/b/c.yaml", data) == nil {
				written.Add(1)
			}
		}()
	}
	wg.Wait()
	if n := written.Load(); n != 1 {
		t.Errorf("%d writers succeeded", n)
	}
	data, err := os.ReadFile(filepath.Join(dir, "a/b/c.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range data {
		if b != data[0] {
			t.Fatal("the content is of several writers")
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "a/b"))
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != 1<<16 || len(entries) != 1 {
		t.Errorf("%d bytes, %d files", len(data), len(entries))
	}
}

// A write that fails leaves no folders behind.
func TestFailedCreateLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/taken.yaml/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/taken.yaml", "file/b/c.yaml", "new/" + string(make([]byte, 1)) + "/c.yaml"} {
		if err := Create(dir, name, []byte("x")); err == nil {
			t.Errorf("%q: no error", name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

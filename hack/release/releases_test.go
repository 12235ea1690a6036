package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestNotesAreTheVersionsSection(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "CHANGELOG.md", "# C\n\n## [Unreleased]\n\n- x\n\n## [0.2.0] - 2026-11-22\n\n- y\n\n## [0.1.0]\n\n- z\n")
	file := filepath.Join(dir, "CHANGELOG.md")
	if notes, err := readNotes(file, "v0.2.0"); err != nil || string(notes) != "- y\n" {
		t.Errorf("got %q, %v", notes, err)
	}
	if _, err := readNotes(file, "v0.3.0"); err == nil || !strings.Contains(err.Error(), "no section ## [0.3.0]") {
		t.Errorf("got %v", err)
	}
}

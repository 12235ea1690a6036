package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// A problem of a file that several clusters read counts once, as it does to lint.
func TestProblemsOfAFileCountOnce(t *testing.T) {
	var f fleet
	err := json.Unmarshal([]byte(`{"clusters": [
		{"hub": "eu", "name": "one", "problems": [{"found": "no YAML", "hub": "eu", "cluster": "one", "position": {"file": "a.yaml", "line": 2}}]},
		{"hub": "eu", "name": "two", "problems": [
			{"found": "no YAML", "hub": "eu", "cluster": "two", "position": {"file": "a.yaml", "line": 2}},
			{"found": "no YAML", "hub": "eu", "cluster": "two", "position": {"file": "b.yaml", "line": 2}}]},
		{"hub": "eu", "name": "three"}]}`), &f)
	if err != nil {
		t.Fatal(err)
	}
	if text := f.text(); !strings.HasSuffix(text, "  problems      2 (clusters affected: 2)\n") {
		t.Error(text)
	}
	f.Clusters = f.Clusters[2:]
	if text := f.text(); !strings.HasSuffix(text, "  problems      0\n") {
		t.Error(text)
	}
}

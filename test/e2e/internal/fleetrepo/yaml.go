package fleetrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// unmarshal reads a file of the fleet.
func unmarshal(files map[string][]byte, path string, into any) error {
	data, ok := files[path]
	if !ok {
		return fmt.Errorf("%s: no such file in the fleet", path)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// place is a text that stands where an address of a repository is expected.
type place struct {
	line, column int // of its first character, a quote included; both from 1, columns in characters
	value        string
	key          string // repoURL, sourceRepos
	chart        bool   // the repository is one of charts
}

// places are those of a file; none if it is a template and no YAML.
func places(data []byte) []place {
	var found []place
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return found
		case err != nil:
			return nil
		}
		walk(&document, func(p place) { found = append(found, p) })
	}
}

func walk(node *yaml.Node, visit func(place)) {
	if node.Kind != yaml.MappingNode {
		for _, child := range node.Content {
			walk(child, visit)
		}
		return
	}
	inGit := false
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		inGit = inGit || (key == "path" || key == "ref") && value.Value != ""
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		switch {
		case key == "repoURL" && value.Kind == yaml.ScalarNode:
			visit(place{value.Line, value.Column, value.Value, key, !inGit})
		case key == "sourceRepos" && value.Kind == yaml.SequenceNode:
			for _, entry := range value.Content {
				visit(place{entry.Line, entry.Column, entry.Value, key, false})
			}
		}
		walk(value, visit)
	}
}

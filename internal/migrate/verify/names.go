package verify

import (
	"os"
	"path/filepath"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// ReadNames reads the file of --names: names of Argosy's Applications by the live names.
func ReadNames(name string) (map[string]string, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, problem.Usage(nil, "--names: %w", err)
	}
	doc, err := yamldoc.Parse(filepath.ToSlash(name), data)
	if err != nil {
		return nil, problem.Usage(nil, "--names: %w", err)
	}
	r := yamldoc.NewReader(doc)
	out := map[string]string{}
	m := r.Map(doc.Root, "the file of names")
	for _, field := range m.Node().Fields() {
		out[field.Name()] = m.String(field.Key)
	}
	if err := r.Err(); err != nil {
		return nil, problem.Usage([]string{"live-name: name-of-argosy"}, "--names: %w", err)
	}
	return out, nil
}

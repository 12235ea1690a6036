package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/lint/secretscan"
)

// secret is a line of an annotation that has the format of a secret.
type secret struct{ text, at, looks string }

// findSecrets reports the annotations that look like secrets, which member files leave out. It
// records their texts, which no Application of the fleet may have. Generators have them, as in Argo
// CD.
func (m *importer) findSecrets() {
	clusters := map[[2]string][]string{} // by annotation and kind
	for _, c := range m.known {
		for _, key := range slices.Sorted(maps.Keys(c.Annotations)) {
			text := c.Annotations[key]
			looks := secretscan.Classify(key, text)
			if looks == "" {
				continue
			}
			clusters[[2]string{key, looks}] = append(clusters[[2]string{key, looks}], c.Name)
			for line := range strings.Lines(text) {
				if format := secretscan.Classify("", line); format != "" {
					m.secrets = append(m.secrets, secret{strings.TrimSpace(line), fmt.Sprintf("annotation %q of cluster %q", key, c.Name), format})
				}
			}
		}
	}
	for of, names := range clusters {
		m.report(problem.Pos{}, fmt.Sprintf("annotation %q", of[0]), fmt.Sprintf("looks like %s and is left out of the member files of %s", of[1], strings.Join(names, ", ")))
	}
}

// withoutSecrets returns the annotations that a member file may have.
func withoutSecrets(from map[string]string) map[string]string {
	out := maps.Clone(from)
	maps.DeleteFunc(out, func(key, text string) bool { return secretscan.Classify(key, text) != "" })
	return out
}

// secretIn returns the secret that an Application has in it; nil for none.
func (m *importer) secretIn(t tree) *secret {
	if len(m.secrets) == 0 {
		return nil
	}
	text := string(manifest.Canonical(t))
	for i, s := range m.secrets {
		if strings.Contains(text, strings.Trim(string(manifest.Canonical(s.text)), "\"\n")) {
			return &m.secrets[i]
		}
	}
	return nil
}

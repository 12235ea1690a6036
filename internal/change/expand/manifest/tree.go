package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Tree is an object as encoding/json decodes it.
type Tree = map[string]any

// Digest returns the same text for values that are equal as JSON.
func Digest(parts ...any) string {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write(Canonical(p))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// Canonical returns a value as JSON with sorted keys.
func Canonical(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(err.Error()) // cannot fail for values read from YAML or JSON
	}
	return out.Bytes()
}

// At returns the value at a path, or nil if there is none.
func At(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// Text returns the text at a path, or "" if there is none.
func Text(v any, path ...string) string {
	s, _ := At(v, path...).(string)
	return s
}

// IsAutomated reports whether Argo CD syncs an Application by itself: it has the policy, and does
// not switch it off. (IsAutomatedSyncEnabled of Argo CD 3.1 and later. While an ApplicationSet
// syncs in steps, 3.5 switches it off, and 2.14 and 3.2 remove the policy.)
func IsAutomated(app any) bool {
	automated, _ := At(app, "spec", "syncPolicy", "automated").(Tree)
	return automated != nil && automated["enabled"] != false
}

// Copy returns a shallow copy of a tree, with room for one more key.
func Copy(v any) Tree {
	m, _ := v.(Tree)
	out := make(Tree, len(m)+1)
	for k, x := range m {
		out[k] = x
	}
	return out
}

// Plain returns a tree with the types of encoding/json; yamldoc keeps numbers exact.
func Plain(tree Tree) Tree {
	var out Tree
	if err := json.Unmarshal(Canonical(tree), &out); err != nil {
		return tree
	}
	return out
}

// Strings returns the texts of a list.
func Strings(v any) []string {
	items, _ := v.([]any)
	out := make([]string, 0, len(items))
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Texts returns the texts of a map.
func Texts(v any) map[string]string {
	m, _ := v.(Tree)
	out := make(map[string]string, len(m))
	for key, value := range m {
		if s, ok := value.(string); ok {
			out[key] = s
		}
	}
	return out
}

package yamldoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	sigsyaml "sigs.k8s.io/yaml"
)

// scalar is a resolved plain scalar.
type scalar struct {
	kind Kind
	text string
}

// plainIsText reports whether a plain scalar can only be a string. yaml.v2 looks at the first byte,
// and tries other types only for some bytes (resolve.go, resolveTable).
//
// A scalar of several lines is text: its blank lines have become line breaks, which no number has.
// So is a scalar that is plain only in its place, such as "-" in a list or "1:" before a colon.
func plainIsText(s string) bool {
	if s == "" {
		return false
	}
	if s == "-" || strings.Contains(s, "\n") || strings.HasSuffix(s, ":") {
		return true
	}
	switch s[0] {
	case '+', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '<', '=', '~':
		return false
	case 'y', 'Y', 'n', 'N', 't', 'T', 'f', 'F', 'o', 'O':
		// Words of YAML 1.1: y, yes, n, no, null, true, false, on, off.
		return len(s) > len("false")
	}
	return true
}

// oracle remembers how sigs.k8s.io/yaml reads scalars. A fleet has few distinct scalars that need
// it; the bounds keep hostile input from filling memory.
type oracle[V any] struct {
	mu      sync.RWMutex
	answers map[string]V
	ask     func(string) (V, error)
}

const (
	oracleSize   = 1 << 16
	oracleLength = 64 // the most bytes of a remembered scalar
)

var (
	valueOracle = oracle[scalar]{answers: map[string]scalar{}, ask: askValue}
	keyOracle   = oracle[string]{answers: map[string]string{}, ask: askKey}
)

// of returns the reading of a scalar, from memory when it is known.
func (o *oracle[V]) of(source string) (V, error) {
	o.mu.RLock()
	v, ok := o.answers[source]
	o.mu.RUnlock()
	if ok {
		return v, nil
	}
	v, err := o.ask(source)
	if err != nil || len(source) > oracleLength {
		return v, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.answers) >= oracleSize {
		clear(o.answers)
	}
	o.answers[strings.Clone(source)] = v
	return v, nil
}

// resolve returns Helm's reading of a plain scalar.
func resolve(source string) (scalar, error) {
	if isSmallInteger(source) {
		return scalar{Number, source}, nil
	}
	return valueOracle.of(source)
}

// resolveKey returns Helm's reading of a plain scalar as a key: JSON's keys are strings.
func resolveKey(source string) (string, error) { return keyOracle.of(source) }

func askKey(source string) (string, error) {
	text, err := sigsyaml.YAMLToJSON([]byte("? " + source + "\n: x\n"))
	if err != nil {
		return "", err
	}
	var m map[string]string
	if err := json.Unmarshal(text, &m); err != nil || len(m) != 1 {
		return "", fmt.Errorf("%q is not a key", source)
	}
	return slices.Collect(maps.Keys(m))[0], nil
}

func askValue(source string) (scalar, error) {
	text, err := sigsyaml.YAMLToJSON([]byte("k: " + source + "\n"))
	if err != nil {
		return scalar{}, err
	}
	text = bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(text), []byte(`{"k":`)), []byte("}"))
	switch {
	case len(text) == 0:
		return scalar{}, fmt.Errorf("%q has no value", source)
	case bytes.Equal(text, []byte("null")):
		return scalar{Null, ""}, nil
	case bytes.Equal(text, []byte("true")), bytes.Equal(text, []byte("false")):
		return scalar{Bool, string(text)}, nil
	case text[0] == '"':
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return scalar{}, err
		}
		return scalar{String, s}, nil
	case text[0] == '{' || text[0] == '[':
		return scalar{}, fmt.Errorf("%q is not a scalar", source)
	}
	return scalar{Number, string(text)}, nil
}

// isSmallInteger reports whether a text is a decimal integer without sign, leading zero or
// overflow.
func isSmallInteger(s string) bool {
	if len(s) == 0 || len(s) > 15 || s[0] == '0' && len(s) > 1 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

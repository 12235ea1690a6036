package yamldoc

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// ambiguous records an ambiguity at a place; nil is none.
func (d *Doc) ambiguous(a *Ambiguity, pos problem.Pos) {
	if a != nil && len(d.Ambiguous) < problem.OfFile {
		a.Pos = pos
		d.Ambiguous = append(d.Ambiguous, *a)
	}
}

// maxAmbiguous is the length, in bytes, beyond which no reader takes a text for a number.
const maxAmbiguous = 64

// valueAmbiguity returns the ambiguity of a plain scalar, nil if there is none. YAML 1.2 or other
// readers of YAML 1.1 read it otherwise than Helm, or a number loses a part of its text.
func valueAmbiguity(text string, means scalar) *Ambiguity {
	if isSmallInteger(text) || text == "" || len(text) > maxAmbiguous {
		return nil
	}
	core := coreScalar(text)
	a := Ambiguity{Text: text, Means: means.text, Differ: otherInYAML11.MatchString(text) || core.kind != means.kind || !sameText(core, means.text)}
	if !a.Differ && (means.kind != Number || !lostText(text, means.text)) {
		return nil
	}
	return &a
}

// nameLike are numbers that may be meant as names: integers, commits such as 1234e56 (Git writes
// four characters and more), and versions such as 1.10. 1e3, 0x1f and 1.0 are not names.
var nameLike = regexp.MustCompile(`^[-+]?(?:[0-9]+|[0-9]{2,}[eE][0-9]+|[0-9]+[eE][0-9]{2,}|[0-9]+\.[0-9]*[1-9]0+)$`)

// lostText reports whether a number that may be meant as a name has a different text in JSON.
func lostText(text, literal string) bool {
	return nameLike.MatchString(text) && strings.TrimLeft(text, "+-") != strings.TrimLeft(literal, "-")
}

// keyAmbiguity returns the ambiguity of a key, which is always a text; nil if there is none.
func keyAmbiguity(text, means string) *Ambiguity {
	if isSmallInteger(text) || len(text) > maxAmbiguous {
		return nil
	}
	core := coreScalar(text)
	if core.kind == Null {
		core.text = "null"
	}
	a := Ambiguity{Text: text, Means: means, Key: true, Differ: otherInYAML11.MatchString(text) || !sameText(core, means)}
	if !a.Differ && means == text {
		return nil
	}
	return &a
}

// sameText reports whether a scalar's text is the same value; numbers may be written in several
// ways.
func sameText(s scalar, text string) bool {
	if s.kind != Number || s.text == text {
		return s.text == text
	}
	a, err1 := strconv.ParseFloat(s.text, 64)
	b, err2 := strconv.ParseFloat(text, 64)
	return err1 == nil && err2 == nil && a == b
}

// otherInYAML11 are booleans of YAML 1.1, some of which Helm's parser reads as text, and integers
// with a leading zero or underscores (YAML 1.1 types bool and int).
var otherInYAML11 = regexp.MustCompile(`^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF|[-+]?0[0-9_]+|[-+]?0b[01_]+|[-+]?[0-9][0-9_]*_[0-9_]*)$`)

// The numbers of YAML 1.2 (1.2.2, section 10.3.2). Infinities and NaN are left out: JSON has none.
var (
	coreDecimal = regexp.MustCompile(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
	coreBased   = regexp.MustCompile(`^0(?:o[0-7]+|x[0-9a-fA-F]+)$`)
)

// coreScalar returns a plain scalar as YAML 1.2 reads it; a Number's text is decimal.
func coreScalar(text string) scalar {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return scalar{Null, ""}
	case "true", "True", "TRUE":
		return scalar{Bool, "true"}
	case "false", "False", "FALSE":
		return scalar{Bool, "false"}
	}
	if coreBased.MatchString(text) {
		if n, err := strconv.ParseUint(text, 0, 64); err == nil {
			return scalar{Number, strconv.FormatUint(n, 10)}
		}
	}
	if coreDecimal.MatchString(text) {
		if _, err := strconv.ParseFloat(text, 64); err == nil { // else it is infinite
			return scalar{Number, text}
		}
	}
	return scalar{String, text}
}

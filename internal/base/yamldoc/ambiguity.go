package yamldoc

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// ambiguous adds a scalar at a place, if it is ambiguous.
func (d *Doc) ambiguous(a *Ambiguity, pos problem.Pos) {
	if a != nil && len(d.Ambiguous) < problem.OfFile {
		a.Pos = pos
		d.Ambiguous = append(d.Ambiguous, *a)
	}
}

// maxAmbiguous is the length, in bytes, beyond which nobody takes a text for a number.
const maxAmbiguous = 64

// valueAmbiguity is that of a plain scalar: Helm's meaning is not that of YAML 1.2, or not that of
// other readers of YAML 1.1, or a number that lost a part of its text. It is nil if there is none.
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

// nameLike are numbers that may be meant as names: integers, commits as 1234e56, of which Git
// writes four characters and more, and versions as 1.10. Nobody means a name by 1e3, 0x1f or 1.0.
var nameLike = regexp.MustCompile(`^[-+]?(?:[0-9]+|[0-9]{2,}[eE][0-9]+|[0-9]+[eE][0-9]{2,}|[0-9]+\.[0-9]*[1-9]0+)$`)

// lostText reports whether a number that may be meant as a name has another text as JSON.
func lostText(text, literal string) bool {
	return nameLike.MatchString(text) && strings.TrimLeft(text, "+-") != strings.TrimLeft(literal, "-")
}

// keyAmbiguity is valueAmbiguity for a key, which is a text after all.
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

// otherInYAML11 are booleans of YAML 1.1 of which Helm's parser reads some as text, and integers
// with a leading zero or underscores (YAML 1.1 types bool and int).
var otherInYAML11 = regexp.MustCompile(`^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF|[-+]?0[0-9_]+|[-+]?0b[01_]+|[-+]?[0-9][0-9_]*_[0-9_]*)$`)

// The numbers of YAML 1.2 (1.2.2, section 10.3.2). Infinities and what is no number are left out:
// JSON has none.
var (
	coreDecimal = regexp.MustCompile(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
	coreBased   = regexp.MustCompile(`^0(?:o[0-7]+|x[0-9a-fA-F]+)$`)
)

// coreScalar is what YAML 1.2 takes a plain scalar for; a Number's text is decimal.
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

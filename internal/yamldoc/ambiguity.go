package yamldoc

import (
	"regexp"
	"strconv"
)

// maxAmbiguous is the length, in bytes, beyond which nobody takes a text for a number.
const maxAmbiguous = 64

// isAmbiguous reports whether readers of YAML differ on a plain scalar: Helm's meaning is not that
// of YAML 1.2, or not that of other readers of YAML 1.1.
func isAmbiguous(text string, means scalar) bool {
	if isSmallInteger(text) || text == "" || len(text) > maxAmbiguous {
		return false
	}
	core := coreScalar(text)
	return otherInYAML11.MatchString(text) || core.kind != means.kind || !sameText(core, means.text)
}

// isAmbiguousKey is isAmbiguous for a key, which is a text after all.
func isAmbiguousKey(text, means string) bool {
	core := coreScalar(text)
	if core.kind == Null {
		core.text = "null"
	}
	return !isSmallInteger(text) && len(text) <= maxAmbiguous && (otherInYAML11.MatchString(text) || !sameText(core, means))
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

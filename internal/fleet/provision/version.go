package provision

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// maxSkew is how many minor versions nodes may be behind the control plane (Kubernetes' version
// skew policy, since 1.28).
const maxSkew = 3

// Version is a version of Kubernetes: 1.33 or 1.33.2. The zero value is unknown.
type Version struct {
	Major, Minor int
	// Patch is -1 where the text has none.
	Patch int
	Text  string
}

var versionPattern = regexp.MustCompile(`^([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,3}))?$`)

// UnmarshalText reads a version.
func (v *Version) UnmarshalText(text []byte) error {
	m := versionPattern.FindStringSubmatch(string(text))
	if m == nil {
		return fmt.Errorf("%q is not a version", text)
	}
	*v = Version{Patch: -1, Text: string(text)}
	v.Major, _ = strconv.Atoi(m[1]) // digits, by the pattern
	v.Minor, _ = strconv.Atoi(m[2])
	if m[3] != "" {
		v.Patch, _ = strconv.Atoi(m[3])
	}
	return nil
}

// IsZero reports whether the version is unknown.
func (v Version) IsZero() bool { return v.Text == "" }

// compare orders versions; a patch counts where both have one.
func (v Version) compare(other Version) int {
	if out := cmp.Or(cmp.Compare(v.Major, other.Major), cmp.Compare(v.Minor, other.Minor)); out != 0 || v.Patch < 0 || other.Patch < 0 {
		return out
	}
	return cmp.Compare(v.Patch, other.Patch)
}

// minorsBehind returns how many minor versions a version is behind another one. Another major
// version is more than any skew allows.
func (v Version) minorsBehind(other Version) int {
	if v.Major != other.Major {
		return 1000 * (other.Major - v.Major)
	}
	return other.Minor - v.Minor
}

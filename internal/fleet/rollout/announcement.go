package rollout

import (
	"maps"
	"slices"
	"strings"
)

// Announcement is what a hub tells an agent of its rings: the revision that the agent is answered
// from in each policy, by the policy's name. It travels as text with the group's ownership grant.
type Announcement map[string]string

// String is the announcement as the grant has it: policy=revision, sorted, with spaces between.
func (a Announcement) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		out = append(out, name+"="+a[name])
	}
	return strings.Join(out, " ")
}

// ParseAnnouncement reads one. It leaves out what is none.
func ParseAnnouncement(text string) Announcement {
	out := Announcement{}
	for word := range strings.FieldsSeq(text) {
		if name, revision, ok := strings.Cut(word, "="); ok && name != "" && revision != "" {
			out[name] = revision
		}
	}
	return out
}

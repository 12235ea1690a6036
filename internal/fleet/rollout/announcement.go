package rollout

import (
	"maps"
	"slices"
	"strings"
)

// Announcement is what a hub tells an agent of its rings: by the policy's name, the revision that
// the agent is served from. It travels as text with the group's ownership grant.
type Announcement map[string]string

// Pending after a policy's name is a word of its own, such as "prod!": the policy's file has
// changed or is gone, and the one before is still in force.
const Pending = "!"

// String returns the announcement as text: policy=revision, sorted, with spaces between.
func (a Announcement) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		out = append(out, name+"="+a[name])
	}
	return strings.Join(out, " ")
}

// ParseAnnouncement reads an announcement. It leaves out invalid words.
func ParseAnnouncement(text string) Announcement {
	out := Announcement{}
	for word := range strings.FieldsSeq(text) {
		if name, revision, ok := strings.Cut(word, "="); ok && name != "" && revision != "" {
			out[name] = revision
		}
	}
	return out
}

package response

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// ParameterSet is one element of a response, as it is written. It never changes.
type ParameterSet struct {
	encoded encodedSet
	// revision is that of its response.
	revision []byte
}

// Item is what the set is about.
func (s ParameterSet) Item() lifecycle.Item { return s.encoded.subject.Item }

// DependsOn are the components that it waits for, as the catalog entry names them. They must not be
// changed.
func (s ParameterSet) DependsOn() []string { return s.encoded.subject.dependsOn }

// Digest is the set's field digest.
func (s ParameterSet) Digest() string { return string(s.encoded.digest()) }

// IsOf reports whether the set is computed from a revision.
func (s ParameterSet) IsOf(revision string) bool {
	return s.encoded.hole > 0 && bytes.HasPrefix(s.revision, revisionField(revision))
}

// Revision is the set's field revision.
func (s ParameterSet) Revision() string {
	var own struct{ Revision string }
	_ = json.Unmarshal(s.fixed().text, &own) // a text of ours
	return own.Revision
}

// fixed is the set with the revision of the response that it is from.
func (s ParameterSet) fixed() encodedSet {
	e := s.encoded
	if e.hole > 0 {
		e.text, e.hole = slices.Concat(e.text[:e.hole], s.revision, e.text[e.hole:]), 0
	}
	return e
}

// Recipe returns the version of a component, and the digest of its paramset.ComponentSet.Recipe;
// empty texts for any other set.
func (s ParameterSet) Recipe() (version, digest string) {
	var set paramset.ComponentSet
	if json.Unmarshal(s.encoded.text, &set) != nil || set.Component == "" {
		return "", ""
	}
	return set.Chart.Version, set.Recipe()
}

// Len is the number of bytes of the set.
func (s ParameterSet) Len() int { return len(s.encoded.text) }

// SavedSet is a component's parameter set as a store has it: the text that was given, and what it
// is about.
type SavedSet struct {
	Text      string         `json:"text"`
	Item      lifecycle.Item `json:"item"`
	DependsOn []string       `json:"dependsOn,omitempty"`
}

// Save returns the set with the revision of its response.
func (s ParameterSet) Save() SavedSet {
	return SavedSet{Text: string(s.fixed().text), Item: s.encoded.subject.Item, DependsOn: s.encoded.subject.dependsOn}
}

// Restore returns the set that was saved, byte for byte. The error means that it is no set.
func (s SavedSet) Restore() (ParameterSet, error) {
	var set struct{ Name, ApplicationName, Digest, Revision string }
	if err := json.Unmarshal([]byte(s.Text), &set); err != nil {
		return ParameterSet{}, err
	}
	out := ParameterSet{encoded: encodedSet{text: []byte(s.Text), subject: subject{Item: s.Item, dependsOn: s.DependsOn}}}
	if set.Name != s.Item.Cluster || set.ApplicationName != s.Item.Name || set.Revision == "" || len(set.Digest) != digestSize || !strings.HasSuffix(s.Text, set.Digest+`"}`) {
		return ParameterSet{}, errors.New("is not the parameter set that it is said to be")
	}
	return out, nil
}

// Kept returns the set of a component that is removed as that of one that stays.
func (s ParameterSet) Kept() (ParameterSet, error) {
	var set paramset.ComponentSet
	if err := json.Unmarshal(s.encoded.text, &set); err != nil {
		return s, err
	}
	set.Deletion = fleet.Orphan
	if s.encoded.hole == 0 {
		own := struct{ Revision, Hold string }{}
		if err := json.Unmarshal(s.encoded.text, &own); err != nil {
			return s, err
		}
		set.Revision, set.Hold = own.Revision, own.Hold
	}
	e, failure := encode(&set)
	if failure != nil {
		return s, failure
	}
	return ParameterSet{e, s.revision}, nil
}

// WithRings returns the set of an ownership grant with the revisions that the member follows.
func (s ParameterSet) WithRings(rings string) (ParameterSet, error) {
	var set paramset.GrantSet
	if err := json.Unmarshal(s.encoded.text, &set); err != nil {
		return s, err
	}
	set.Rings = rings
	e, failure := encode(&set)
	if failure != nil {
		return s, failure
	}
	return ParameterSet{e, s.revision}, nil
}

// equal reports whether two sets are the same, but for the revision of their responses.
func (s ParameterSet) equal(o ParameterSet) bool {
	return s.encoded.hole == o.encoded.hole && bytes.Equal(s.encoded.text, o.encoded.text)
}

// IsOrdered reports whether the response has sets of components that depend on others, or that are
// removed.
func (t *Response) IsOrdered() bool { return t.ordered > 0 }

// ParameterSets calls f for each parameter set, in order.
func (t *Response) ParameterSets(f func(ParameterSet)) {
	for e := range t.all() {
		f(ParameterSet{e, e.revisionIn(t)})
	}
}

// Section is some clusters of a response. It never changes.
type Section struct {
	part *part
	of   *Response
}

// Sections are all of a response, in order.
func (t *Response) Sections() iter.Seq[Section] {
	return func(yield func(Section) bool) {
		for _, p := range t.parts {
			if !yield(Section{p, t}) {
				return
			}
		}
	}
}

// HasSetsOf reports whether two sections have the same parameter sets, but for their revisions. It
// compares what is shared, and takes no time: those that were computed apart differ.
func (s Section) HasSetsOf(o Section) bool {
	return s.part == o.part || s.part != nil && o.part != nil && slices.Equal(s.part.clusters, o.part.clusters)
}

// ParameterSets calls f for each parameter set of the section, in order.
func (s Section) ParameterSets(f func(ParameterSet)) {
	for i, c := range s.part.clusters {
		for _, e := range c.sets {
			e = s.part.set(i, e)
			f(ParameterSet{e, e.revisionIn(s.of)})
		}
	}
}

// Composition decides what a response has in the place of one of its parameter sets: the same,
// another one, or with false none. One from another response keeps that one's revision.
type Composition func(ParameterSet) (ParameterSet, bool)

// Compose returns the response with what a composition decides for each parameter set. It is the
// response itself where nothing differs, and shares with it what does not.
func (t *Response) Compose(decide Composition) *Response {
	parts, changed := slices.Clone(t.parts), false
	for i, p := range parts {
		clusters, revisions, other := slices.Clone(p.clusters), slices.Clone(p.revisions), false
		for j, c := range clusters {
			var sets []encodedSet
			same := true
			for _, e := range c.sets {
				e = p.set(j, e)
				was := ParameterSet{e, e.revisionIn(t)}
				is, stays := decide(was)
				switch {
				case !stays:
					same = false
				case is.equal(was):
					sets = append(sets, e)
				default:
					same = false
					if is.encoded.revision == nil && !bytes.Equal(is.revision, t.revision) {
						is.encoded = is.fixed()
					}
					sets = append(sets, is.encoded)
				}
			}
			if !same {
				clusters[j], other = newEncodedCluster(sets, c.rest()), true
				if revisions != nil {
					revisions[j] = nil // each set has its own now
				}
			}
		}
		if other {
			parts[i], changed = newPart(p.of, clusters, revisions, nil), true
		}
	}
	if !changed {
		return t
	}
	out := &Response{opening: t.opening, closing: t.closing, revision: t.revision, parts: parts, to: t.to, holds: t.holds}
	for _, p := range parts {
		out.add(p.total)
	}
	return out
}

package response

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// encodedSet is a set as JSON. A set of the State's own revision is without it: it belongs where
// hole is, which is 0 for a set that has another one, and has it.
type encodedSet struct {
	text    []byte
	hole    int
	subject subject
	// revision belongs into the hole of a set of another response; nil for that of its own.
	revision []byte
}

// digestSize is the length of a digest.
const digestSize = 32

// holdField says why a set is not of the newest revision.
func holdField(reason string) []byte {
	if reason == "" {
		return nil
	}
	return []byte(`"hold":` + strconv.Quote(reason) + `,`)
}

// revisionField is what belongs into holes.
func revisionField(revision string) []byte {
	text, err := encodeJSON(revision)
	if err != nil {
		panic(err) //nolint:forbidigo // texts can always be written
	}
	return slices.Concat([]byte(`"revision":`), text, []byte{','})
}

// encodeJSON is JSON without HTML escaping and without a newline at the end.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encode is a set as JSON, followed by its revision, a hold's reason, and the digest of all that is
// before them.
func encode(s paramset.Set) (encodedSet, *problem.QueryError) {
	text, err := encodeJSON(s)
	if err != nil {
		return encodedSet{}, &problem.QueryError{Kind: problem.KindUnavailable, Message: fmt.Sprintf("cluster %q: %v", s.Shared().Name, err)}
	}
	end := `"digest":"` + digest(text) + `"}`
	text[len(text)-1] = ','
	if revision := s.Shared().Revision; revision != "" {
		return encodedSet{text: slices.Concat(text, revisionField(revision), holdField(s.Shared().Hold), []byte(end)), subject: subjectOf(s)}, nil
	}
	return encodedSet{text: slices.Concat(text, []byte(end)), hole: len(text), subject: subjectOf(s)}, nil
}

func (e encodedSet) total() total {
	t := total{Tally: paramset.Tally{Sets: 1}, size: len(e.text)}
	switch {
	case e.hole > 0 && e.revision != nil:
		t.size += len(e.revision)
	case e.hole > 0:
		t.holes = 1
	}
	if len(e.subject.dependsOn) > 0 || e.subject.IsRemoval {
		t.ordered = 1
	}
	return t
}

// content returns the digest and the hold's reason, which together tell two sets apart except for
// their revisions. Only a set with a revision of its own has a hold.
func (e encodedSet) content() []byte {
	end := e.digest()
	if e.hole > 0 {
		return end
	}
	if i := bytes.LastIndex(e.text, []byte(`,"hold":`)); i > 0 && i > len(e.text)-len(end)-64 {
		return e.text[i : len(e.text)-len(`"}`)]
	}
	return end
}

// digest is the set's.
func (e encodedSet) digest() []byte {
	end := len(e.text) - len(`"}`)
	return e.text[end-digestSize : end]
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// encodedCluster is what a response says of a cluster.
type encodedCluster struct {
	sets []encodedSet
	total
}

// newEncodedCluster sums sets up. The tally counts all but them.
func newEncodedCluster(sets []encodedSet, tally paramset.Tally) *encodedCluster {
	out := &encodedCluster{sets: sets, total: total{Tally: tally}}
	for _, e := range sets {
		out.add(e.total())
	}
	return out
}

// equal reports whether two clusters have the same sets.
func (c *encodedCluster) equal(o *encodedCluster) bool {
	return c.total == o.total && slices.EqualFunc(c.sets, o.sets, func(a, b encodedSet) bool {
		return a.hole == b.hole && bytes.Equal(a.text, b.text) && bytes.Equal(a.revision, b.revision) && a.subject.equal(b.subject)
	})
}

// rest is the tally but for the number of sets.
func (c *encodedCluster) rest() paramset.Tally {
	out := c.Tally
	out.Sets = 0
	return out
}

func encodeCluster(s paramset.ClusterSets, computing *computation) (*encodedCluster, *problem.QueryError) {
	var sets []encodedSet
	for _, one := range s.Sets {
		e, failure := encode(one)
		if failure == nil {
			failure = computing.take(len(e.text))
		}
		if failure != nil {
			return nil, failure
		}
		sets = append(sets, e)
	}
	return newEncodedCluster(sets, paramset.Tally{Own: s.Own, Live: s.Live, Known: s.Known}), nil
}

// revisionIn is what belongs into the set's hole in a response.
func (e encodedSet) revisionIn(t *Response) []byte {
	if e.revision != nil {
		return e.revision
	}
	return t.revision
}

package generator

import (
	"bytes"
	"strings"

	"github.com/argosy-hub/argosy/internal/facts"
)

// Most commits change few clusters, and each changes every answer: its sets name the revision. What an answer of the
// previous state says of a cluster that has been taken over from it as it was (keeper), by the same facts, is said again
// with the new revision. Nothing of it is computed or written anew.

// origin tells which of an answer's sets are of which cluster.
type origin struct {
	revision string // of the sets whose cluster is not at home
	clusters []*cluster
	// sets is how many each cluster has, ends where each set ends in the answer's bytes.
	sets []int32
	ends []int64
}

// said is a set that an earlier answer has, but for its revision.
type said struct {
	of      Common
	subject Subject
	// head is the set up to its revision.
	head   []byte
	digest string
}

func (s *said) common() *Common { return &s.of }

// digestSize is the length of a digest.
const digestSize = 32

// tailOf is how a set ends.
func tailOf(revision, digest string) ([]byte, error) {
	return marshal(struct {
		Revision string `json:"revision"`
		Digest   string `json:"digest"`
	}{revision, digest})
}

// before are a state's answers that the next one may say again.
func (a answers) forNext(f, next facts.Set) map[requestKey]*Told {
	out := map[requestKey]*Told{}
	if !f.Equal(next) {
		return out
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, b := range a.known {
		if b.told.origin != nil {
			out[key] = b.told
		}
	}
	return out
}

// takeBefore is the previous state's answer to a request, nil if there is none. It is given once: a state has no use for
// it when it has an answer of its own.
func (a answers) takeBefore(key requestKey) *Told {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := a.before[key]
	delete(a.before, key)
	return told
}

// again finds what an answer says of clusters. They are asked for in order.
type again struct {
	told  *Told
	index map[*cluster]int // of the first set, by cluster
	count map[*cluster]int
	tail  []byte // how each of its sets ends, but for the digest
}

func newAgain(told *Told) *again {
	if told == nil {
		return nil
	}
	tail, err := tailOf(told.origin.revision, strings.Repeat("0", digestSize))
	if err != nil {
		return nil
	}
	o := told.origin
	a := &again{told: told, index: make(map[*cluster]int, len(o.clusters)), count: make(map[*cluster]int, len(o.clusters)), tail: tail[1:]}
	at := 0
	for i, c := range o.clusters {
		if c.home == nil && c.attempt == nil {
			a.index[c], a.count[c] = at, int(o.sets[i])
		}
		at += int(o.sets[i])
	}
	return a
}

// of are a cluster's sets, if they are as they were.
func (a *again) of(c *cluster) (clusterSets, bool) {
	if a == nil {
		return clusterSets{}, false
	}
	first, known := a.index[c]
	if !known {
		return clusterSets{}, false
	}
	var out clusterSets
	for i := first; i < first+a.count[c]; i++ {
		from := int64(len(answerOpening))
		if i > 0 {
			from = a.told.origin.ends[i-1] + 1
		}
		element, subject := a.told.Bytes[from:a.told.origin.ends[i]], a.told.Subjects[i]
		head, tail := element[:len(element)-len(a.tail)], element[len(element)-len(a.tail):]
		at := len(tail) - digestSize - len(`"}`)
		if !bytes.Equal(tail[:at], a.tail[:at]) {
			return clusterSets{}, false // it is of another revision
		}
		out.sets = append(out.sets, &said{
			of:      Common{Name: subject.Cluster, ApplicationName: subject.Name},
			subject: subject, head: head, digest: string(tail[at : at+digestSize]),
		})
	}
	return out, true
}

// remember puts down which sets are of which cluster.
func (t *Told) remember(revision string, clusters []*cluster, perCluster []clusterSets, texts []encodedSet) {
	o := &origin{revision: revision, clusters: clusters, sets: make([]int32, len(clusters)), ends: make([]int64, len(texts))}
	for i, s := range perCluster {
		o.sets[i] = int32(len(s.sets)) //nolint:gosec // MaxSets
	}
	at := int64(len(answerOpening))
	for i, e := range texts {
		at += int64(e.len())
		o.ends[i] = at
		at++
	}
	t.origin = o
}

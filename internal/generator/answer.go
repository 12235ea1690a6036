package generator

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
)

// MaxSets is the limit of parameter sets in one answer (rule H10).
const MaxSets = 50_000

// maxAnswers bounds how many answers a State remembers, and maxAnswerBytes how much.
const (
	maxAnswers     = 4096
	maxAnswerBytes = 256 << 20
)

// answers remembers the bytes of a State's answers: an answer is a pure function (G6).
type answers struct {
	mu    *sync.Mutex
	bytes map[[sha256.Size]byte][]byte
	size  *int
}

func newAnswers() answers {
	return answers{mu: new(sync.Mutex), bytes: map[[sha256.Size]byte][]byte{}, size: new(int)}
}

func (a answers) get(key [sha256.Size]byte) ([]byte, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, ok := a.bytes[key]
	return b, ok
}

func (a answers) put(key [sha256.Size]byte, b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.bytes[key]; ok || len(b) > maxAnswerBytes { // another request has computed it too, or it is no use
		return
	}
	if len(a.bytes) >= maxAnswers || *a.size+len(b) > maxAnswerBytes {
		clear(a.bytes)
		*a.size = 0
	}
	a.bytes[key] = b
	*a.size += len(b)
}

// Answer is the plugin's answer to a request: `{"output":{"parameters":[...]}}` and a newline. The bytes must not be
// changed. The error is an *Error; then there is no answer at all (G1).
func (st *State) Answer(r Request) ([]byte, error) {
	text, err := marshal(r)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	key := sha256.Sum256(text)
	if b, ok := st.answers.get(key); ok {
		return b, nil
	}
	b, failure := st.answer(r)
	if failure != nil {
		return nil, failure
	}
	st.answers.put(key, b)
	return b, nil
}

func (st *State) answer(r Request) ([]byte, *Error) {
	q, failure := st.query(r)
	if failure != nil {
		return nil, failure
	}
	sets, failure := st.sets(q)
	if failure != nil {
		return nil, failure
	}
	texts := make([][]byte, len(sets))
	errs := make([]error, len(sets))
	parallel(len(sets), func(i int) { texts[i], errs[i] = encode(sets[i], st.Revision) })
	var b bytes.Buffer
	b.WriteString(`{"output":{"parameters":[`)
	for i, text := range texts {
		if errs[i] != nil {
			return nil, &Error{Kind: Unavailable, Message: fmt.Sprintf("cluster %q: %v", sets[i].common().Name, errs[i])}
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(text)
	}
	b.WriteString("]}}\n")
	return b.Bytes(), nil
}

// sets are the parameter sets of a request, sorted by cluster, then component or release.
func (st *State) sets(q query) ([]set, *Error) {
	var sets []set
	var problems []problem.Problem
	switch q.View {
	case Members:
		sets, problems = st.memberSets(q)
	case Releases:
		sets, problems = st.releaseSets(q)
	case Components:
		var failure *Error
		if sets, problems, failure = st.componentSets(q); failure != nil {
			return nil, failure
		}
	case Agents:
		sets, problems = st.agentSets(q)
	}
	if len(problems) > 0 {
		return nil, unavailable(problems)
	}
	if len(sets) > MaxSets {
		return nil, &Error{Kind: Unavailable, Message: fmt.Sprintf("the answer has %d parameter sets; the limit is %d: ask per component", len(sets), MaxSets)}
	}
	return sets, nil
}

// asked are the clusters that a request is about: those the asker sees and the selector selects, without retired
// ones, sorted by name. Problems are of those that cannot be computed at all.
func (st *State) asked(q query) ([]*cluster, []problem.Problem) {
	var out []*cluster
	problems := problem.Errors(st.Fleet.ProblemsOf(q.Hub))
	for _, m := range st.Fleet.Members(q.Hub) {
		if q.owner != fleet.OwnerHub && q.owner != m.Name {
			continue
		}
		c := st.clusters[m]
		if m.Lifecycle == fleet.Retired && len(problem.Errors(m.Problems)) == 0 {
			continue // what is wrong with its values concerns nobody any more
		}
		if len(c.broken) > 0 {
			problems = append(problems, c.broken...)
			continue
		}
		if !q.selector.Matches(c.labels.All) {
			continue
		}
		out = append(out, c)
	}
	return out, problems
}

// owns reports whether the asker's engine owns a group's Applications of a cluster (M1).
func (q query) owns(c *cluster, group string) bool { return c.member.Owner(group) == q.owner }

// common are the fields that all of a cluster's sets share.
func (c *cluster) common(application string) Common {
	return Common{
		Name: c.member.Name, NameNormalized: c.member.Name, Server: c.facts.Server,
		Tenant: c.member.Tenant, Environment: c.member.Environment, Hub: c.member.Hub, Model: c.member.Model(),
		Metadata: c.metadata, ApplicationName: application,
	}
}

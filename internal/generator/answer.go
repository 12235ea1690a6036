package generator

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/problem"
)

// MaxSets is the limit of parameter sets in one answer (rule H10).
const MaxSets = 50_000

// maxAnswers bounds how many answers and fingerprints a State remembers, and maxAnswerBytes how much of answers.
const (
	maxAnswers     = 4096
	maxAnswerBytes = 256 << 20
)

// answers remembers the bytes of a State's answers, and their fingerprints: an answer is a pure function (G6).
type answers struct {
	mu    *sync.Mutex
	known map[requestKey]rememberedAnswer
	size  *int
	// prints are small: they are there still when the answers of a large fleet have been too many to be kept.
	prints map[requestKey]rememberedPrint
	// pending are those being computed: whoever asks for one meanwhile waits for it. After a commit all ask at once.
	pending map[requestKey]*pendingAnswer
	// before are answers of the previous state, each until this one has its own.
	before map[requestKey]*Told
}

// pendingAnswer is there for all who wait when done is closed; both are nil where computing it panicked.
type pendingAnswer struct {
	done    chan struct{}
	told    *Told
	failure *Error
}

// requestKey is the same for equal requests.
type requestKey = [sha256.Size]byte

// about is the part of a request that says which Applications its answer depends on.
type about struct {
	view             View
	group, component string
}

type rememberedAnswer struct {
	about
	told *Told
}

type rememberedPrint struct {
	about
	text string
}

func newAnswers() answers {
	return answers{
		mu: new(sync.Mutex), known: map[requestKey]rememberedAnswer{}, size: new(int), prints: map[requestKey]rememberedPrint{},
		pending: map[requestKey]*pendingAnswer{},
	}
}

func (a answers) get(key requestKey) (*Told, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, ok := a.known[key]
	return b.told, ok
}

// once computes an answer, or waits for whoever is computing it.
func (a answers) once(key requestKey, compute func() (*Told, *Error)) (*Told, *Error) {
	a.mu.Lock()
	if b, ok := a.known[key]; ok {
		a.mu.Unlock()
		return b.told, nil
	}
	if p := a.pending[key]; p != nil {
		a.mu.Unlock()
		<-p.done
		if p.told == nil && p.failure == nil {
			return compute()
		}
		return p.told, p.failure
	}
	p := &pendingAnswer{done: make(chan struct{})}
	a.pending[key] = p
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.pending, key)
		a.mu.Unlock()
		close(p.done)
	}()
	p.told, p.failure = compute()
	return p.told, p.failure
}

func (a answers) put(key requestKey, b rememberedAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := b.told.Len()
	if _, ok := a.known[key]; ok || size > maxAnswerBytes { // another request has computed it too, or it is no use
		return
	}
	if len(a.known) >= maxAnswers || *a.size+size > maxAnswerBytes {
		clear(a.known)
		*a.size = 0
	}
	a.known[key] = b
	*a.size += size
}

func (a answers) print(key requestKey) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.prints[key]
	return p.text, ok
}

func (a answers) putPrint(key requestKey, p rememberedPrint) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.prints) >= maxAnswers {
		clear(a.prints)
	}
	a.prints[key] = p
}

// keepAnswers takes over from the previous state, where nothing but Applications has changed since, the answers that
// depend on none of those. Applications come and go by the hundred when a component is rolled out, each time in a few
// changes of the facts.
func (st *State) keepAnswers(previous *State) {
	if previous == nil || previous.resolver.Snapshot != st.resolver.Snapshot || previous.KnowsApplications() != st.KnowsApplications() || !previous.facts.EqualClusters(st.facts) || !previous.facts.EqualGrants(st.facts) {
		return
	}
	groups, components, granted, agents := map[string]bool{}, map[[2]string]bool{}, map[string]bool{}, false
	leftOut := false // one that is so no more is missing in every answer
	facts.ApplicationsDiffer(previous.facts, st.facts, func(a facts.Application) {
		groups[a.Group], components[[2]string{a.Group, a.Component}] = true, true
		granted[a.Group] = granted[a.Group] || a.Grant
		agents = agents || a.Name == ApplicationName(Agent, a.Cluster)
		leftOut = leftOut || st.unresolved[a.Cluster]
	})
	if leftOut {
		return
	}
	unchanged := func(b about) bool {
		// A component's set depends on its Application, which counts if it is labelled with the set's group and component;
		// which components a release has, on those of its group; what registers a member, on all of its cluster; all of a
		// group, on the Applications that deliver its grants. Of an agent it matters whether there is one at all, where its
		// cluster is not known any more.
		switch {
		case b.view == Agents:
			return !agents
		case b.view == Components && b.component != "":
			return !components[[2]string{b.group, b.component}] && !granted[b.group]
		case b.view == Components, b.view == Releases:
			return !groups[b.group]
		}
		return len(groups) == 0
	}
	old := previous.answers
	old.mu.Lock()
	defer old.mu.Unlock()
	for key, b := range old.known {
		if unchanged(b.about) {
			// Whoever judged it may have looked at the Applications.
			st.answers.put(key, rememberedAnswer{b.about, b.told.again()})
		}
	}
	for key, p := range old.prints {
		if unchanged(p.about) {
			st.answers.putPrint(key, p)
		}
	}
}

// Answer is the plugin's answer to a request: `{"output":{"parameters":[...]}}` and a newline. The bytes must not be
// changed. The error is an *Error; then there is no answer at all (G1).
func (st *State) Answer(r Request) ([]byte, error) {
	told, err := st.Told(r)
	if err != nil {
		return nil, err
	}
	return told.Bytes(), nil
}

// Told is Answer with what its sets are about. It is the same pointer as long as the answer is remembered.
func (st *State) Told(r Request) (*Told, error) {
	key, err := r.key()
	if err != nil {
		return nil, BadRequestError("%v", err)
	}
	if told, ok := st.answers.get(key); ok {
		return told, nil
	}
	told, failure := st.answers.once(key, func() (*Told, *Error) {
		told, failure := st.answer(r, st.answers.takeBefore(key))
		if failure == nil {
			st.answers.put(key, rememberedAnswer{r.about(), told})
		}
		return told, failure
	})
	if failure != nil {
		return nil, failure
	}
	return told, nil
}

// Once is Told for whoever asks once: the answer is not remembered.
func (st *State) Once(r Request) (*Told, error) { return st.onceLike(r, nil) }

// Both are Once of two states, which share what they say alike of the same clusters.
func Both(before, after *State, r Request) (was, is *Told, err error) {
	if was, err = before.Once(r); err != nil {
		return nil, nil, err
	}
	like := was
	if !before.facts.Equal(after.facts) {
		like = nil
	}
	is, err = after.onceLike(r, like)
	return was, is, err
}

func (st *State) onceLike(r Request, like *Told) (*Told, error) {
	told, failure := st.answer(r, like)
	if failure != nil {
		return nil, failure
	}
	return told, nil
}

// Subjects are those of the answer to a request, in order, without the answer: of any number of sets.
func (st *State) Subjects(r Request) ([]Subject, error) {
	q, failure := st.query(r)
	if failure != nil {
		return nil, failure
	}
	var out [][]Subject
	if q.View == Components || q.View == Members {
		q.SubjectsOnly = true
		out, failure = byCluster(st, q, func(s clusterSets) []Subject { return subjects(s.sets) })
	} else {
		var sets []ParameterSet
		sets, failure = st.sets(q)
		out = [][]Subject{subjects(sets)}
	}
	if failure != nil {
		return nil, failure
	}
	return slices.Concat(out...), nil
}

func subjects(sets []ParameterSet) []Subject {
	out := make([]Subject, len(sets))
	for i, s := range sets {
		out[i] = subject(s)
	}
	return out
}

// key is the same for requests that have the same answer.
func (r Request) key() (requestKey, error) {
	if r.View != Components || r.Release == "" {
		r.ApplicationSet = "" // makes no difference
	}
	text, err := EncodeJSON(r)
	return sha256.Sum256(text), err
}

func (r Request) about() about { return about{r.View, r.Group, r.Component} }

// How an answer begins and ends.
const (
	answerOpening = `{"output":{"parameters":[`
	answerClosing = "]}}\n"
)

// answer computes an answer. Before is that of the previous state, nil if there is none that says anything of this one.
func (st *State) answer(r Request, before *Told) (*Told, *Error) {
	q, failure := st.query(r)
	if failure != nil {
		return nil, failure
	}
	var parts []*part
	if q.View == Components || q.View == Members {
		parts, failure = st.tell(q, before)
	} else {
		parts, failure = st.tellSets(q)
	}
	if failure != nil {
		return nil, failure
	}
	out := st.newTold(answerOpening, parts, answerClosing)
	out.to = st.asker(q)
	return out, nil
}

// tellSets is an answer in one part.
func (st *State) tellSets(q query) ([]*part, *Error) {
	sets, failure := st.sets(q)
	if failure != nil {
		return nil, failure
	}
	all, failure := clusterSets{sets: sets}.encode()
	if failure != nil {
		return nil, failure
	}
	return []*part{newPart(nil, []*said{all})}, nil
}

// sets are the parameter sets of a request, sorted by cluster, then component or release.
func (st *State) sets(q query) ([]ParameterSet, *Error) {
	var sets []ParameterSet
	var problems []problem.Problem
	switch q.View {
	case Members, Components:
		return st.setsByCluster(q)
	case Releases:
		sets, problems = st.releaseSets(q)
	case Agents:
		sets, problems = st.agentSets(q)
	case Grants:
		sets, problems = st.grantSets(q)
	}
	return sets, st.judge(q, total{sets: len(sets)}, problems)
}

// setsByCluster are those of a view that has sets of single members.
func (st *State) setsByCluster(q query) ([]ParameterSet, *Error) {
	sets, failure := byCluster(st, q, func(s clusterSets) []ParameterSet { return s.sets })
	return slices.Concat(sets...), failure
}

// byCluster is what becomes of each cluster's sets.
func byCluster[V any](st *State, q query, of func(clusterSets) V) ([]V, *Error) {
	clusters := st.candidates(q)
	out, totals, faults := make([]V, len(clusters)), make([]total, len(clusters)), make([][]problem.Problem, len(clusters))
	Each(len(clusters), func(i int) {
		s := st.setsOf(q, clusters[i])
		out[i], totals[i], faults[i] = of(s), total{sets: len(s.sets), live: s.live, knows: s.knows}, s.problems
	})
	var sum total
	for _, t := range totals {
		sum.add(t)
	}
	return out, st.judge(q, sum, append(problem.Errors(st.Fleet.ProblemsOf(q.Hub)), slices.Concat(faults...)...))
}

// judge is why there is no answer, nil if there is one (G1).
func (st *State) judge(q query, sum total, problems []problem.Problem) *Error {
	switch {
	case q.Component != "" && q.Base == nil && sum.live && !sum.knows:
		return st.unknownComponent(q)
	case len(problems) > 0:
		return UnavailableError(problems)
	case sum.sets > MaxSets && !q.SubjectsOnly:
		return &Error{Kind: Unavailable, Message: fmt.Sprintf("the answer has %d parameter sets; the limit is %d: ask per component", sum.sets, MaxSets)}
	}
	return nil
}

// unknownComponent is the error of a component that no cluster's catalogs have.
func (st *State) unknownComponent(q query) *Error {
	var names []string
	clusters, _ := st.asked(q)
	for _, c := range clusters {
		if g := c.Groups[q.Group]; g != nil {
			names = append(names, g.Components()...)
		}
	}
	return BadRequestError("component %q is in no catalog of group %q%s", q.Component, q.Group, Hint(q.Component, names))
}

// asked are the clusters that a request is about, sorted by name. Problems are of those that cannot be computed at all.
func (st *State) asked(q query) ([]*Cluster, []problem.Problem) {
	var out []*Cluster
	problems := problem.Errors(st.Fleet.ProblemsOf(q.Hub))
	for _, c := range st.candidates(q) {
		is, faults := st.isAbout(q, c)
		if problems = append(problems, faults...); is {
			out = append(out, c)
		}
	}
	return out, problems
}

// isAbout reports whether a request is about a cluster: one that the selector selects; of retired ones, those that may
// have something left to be removed. Problems are why that cannot be told.
func (st *State) isAbout(q query, c *Cluster) (bool, []problem.Problem) {
	switch {
	case st.IsLeftOut(c, q.Requester, q.Desired):
		return false, nil
	case c.LastKnownGood == nil && len(c.HubProblems) > 0:
		return false, c.HubProblems
	case c.IsRetired() && (!st.KnowsApplications() || len(c.Broken) > 0):
		return false, nil // what is wrong with its values concerns nobody any more
	case len(c.Broken) > 0:
		return false, c.Broken
	}
	return q.LabelSelector.Matches(c.Labels.All), st.unknown(q, c)
}

// common are the fields that all of a cluster's sets share.
func (c *Cluster) common(application string) Common {
	out := Common{
		Name: c.Member.Name, NameNormalized: c.Member.Name, Server: c.Facts.Server,
		Tenant: c.Member.Tenant, Environment: c.Member.Environment, Hub: c.Member.Hub, Model: c.Member.Model(),
		Metadata: c.Metadata, ApplicationName: application, Quarantine: c.Quarantine,
	}
	if c.LastKnownGood != nil {
		out.revision = c.LastKnownGood.Snapshot.Revision
	}
	return out
}

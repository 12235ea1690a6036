package response

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// How a response begins and ends.
const (
	opening = `{"output":{"parameters":[`
	closing = "]}}\n"
)

// Respond is the plugin's response to a query. The error is a *problem.QueryError, without any
// response (G1).
func Respond(st *fleetstate.State, r query.Query) (*Response, error) { return respondLike(st, r, nil) }

// Bytes are those of Respond: `{"output":{"parameters":[...]}}` and a newline.
func Bytes(st *fleetstate.State, r query.Query) ([]byte, error) {
	response, err := Respond(st, r)
	if err != nil {
		return nil, err
	}
	return response.Bytes(), nil
}

// RespondBoth is Respond of two states, which share what they say alike of the same clusters.
func RespondBoth(before, after *fleetstate.State, r query.Query) (was, is *Response, err error) {
	if was, err = Respond(before, r); err != nil {
		return nil, nil, err
	}
	like := was
	if !before.Facts().Equal(after.Facts()) {
		like = nil
	}
	is, err = respondLike(after, r, like)
	return was, is, err
}

func respondLike(st *fleetstate.State, r query.Query, like *Response) (*Response, error) {
	response, failure := respond(context.Background(), st, r, like, nil)
	if failure != nil {
		return nil, failure
	}
	return response, nil
}

// respond computes a response. Previous is that of another state with the same facts, whose parts
// it may share; nil for none. What it computes that a twin says, too, it shares with that. When the
// context ends, it returns errAbandoned with the response so far, which a later call may share.
func respond(ctx context.Context, st *fleetstate.State, r query.Query, previous, twin *Response) (*Response, *problem.QueryError) {
	q, failure := query.Check(st, r)
	if failure != nil {
		return nil, failure
	}
	var parts []*part
	if q.View == query.Components || q.View == query.Members {
		parts, failure = partsByCluster(ctx, st, q, previous, twin)
	} else {
		parts, failure = onePart(st, q)
	}
	if failure != nil && failure != errAbandoned {
		return nil, failure
	}
	out := newResponse(st, opening, parts, closing)
	out.to = requesterOf(st, q)
	return out, failure
}

// onePart is a response of a view whose sets are not of single members.
func onePart(st *fleetstate.State, q query.Checked) ([]*part, *problem.QueryError) {
	sets, failure := paramset.Generate(st, q)
	if failure != nil {
		return nil, failure
	}
	now := computing.begin()
	defer now.end()
	all, failure := encodeCluster(paramset.ClusterSets{Sets: sets}, now)
	if failure != nil {
		return nil, failure
	}
	return []*part{newPart(nil, []*encodedCluster{all}, nil, nil)}, nil
}

// errAbandoned is the error of a response that is not computed to its end.
var errAbandoned = &problem.QueryError{Kind: problem.KindUnavailable, Message: "no client waits for the response"}

// partsByCluster is a response of a view that has sets of single members.
func partsByCluster(ctx context.Context, st *fleetstate.State, q query.Checked, previous, twin *Response) ([]*part, *problem.QueryError) {
	var old []*part
	if previous != nil && previous.to == requesterOf(st, q) {
		old = previous.parts
	}
	clusters := paramset.Candidates(st, q)
	parts := make([]*part, (len(clusters)+partSize-1)/partSize)
	problems := make([][]problem.Problem, len(parts))
	errs := make([]*problem.QueryError, len(parts))
	now := computing.begin()
	defer now.end()
	var failed atomic.Bool // the rest need not be computed
	var counted atomic.Int64
	run.Each(len(parts), func(i int) {
		if failed.Load() || ctx.Err() != nil {
			return
		}
		of := clusters[i*partSize : min((i+1)*partSize, len(clusters))]
		if i < len(old) && old[i].revisions == nil && slices.Equal(old[i].of, of) {
			parts[i] = old[i]
			return
		}
		all := make([]*encodedCluster, len(of))
		for j, c := range of {
			if all[j] = find(old, i, j, c); all[j] != nil {
				continue
			}
			sets := paramset.OfCluster(st, q, c)
			problems[i] = append(problems[i], sets.Problems...)
			if all[j], errs[i] = encodeCluster(sets, now); errs[i] != nil {
				failed.Store(true)
				return
			}
			if was := twin.at(i, j); was != nil && was.equal(all[j]) {
				all[j] = was
			}
		}
		parts[i] = newPart(of, all, nil, nil)
		if counted.Add(int64(parts[i].Sets-parts[i].Own)) > paramset.MaxSets {
			failed.Store(true)
		}
	})
	if ctx.Err() != nil {
		return finished(parts, problems, old), errAbandoned
	}
	if i := slices.IndexFunc(errs, func(e *problem.QueryError) bool { return e != nil }); i >= 0 {
		return nil, errs[i]
	}
	var sum total
	for _, p := range parts {
		if p != nil {
			sum.add(p.total)
		}
	}
	if failure := paramset.Judge(st, q, sum.Tally, slices.Concat(problems...)); failure != nil {
		return nil, failure
	}
	return parts, nil
}

// finished returns the parts that need not be computed again, in their order: those without
// problems, and old ones in the place of the others.
func finished(parts []*part, problems [][]problem.Problem, old []*part) (out []*part) {
	for i, p := range parts {
		switch {
		case p != nil && len(problems[i]) == 0:
			out = append(out, p)
		case i < len(old):
			out = append(out, old[i])
		}
	}
	return out
}

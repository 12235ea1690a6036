package generator

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/problem"
)

// How a response begins and ends.
const (
	opening = `{"output":{"parameters":[`
	closing = "]}}\n"
)

// Respond is the plugin's response to a query. The error is an *Error; then there is no response at all (G1).
func Respond(st *State, r Request) (*Response, error) { return respondLike(st, r, nil) }

// Bytes are those of Respond: `{"output":{"parameters":[...]}}` and a newline.
func Bytes(st *State, r Request) ([]byte, error) {
	response, err := Respond(st, r)
	if err != nil {
		return nil, err
	}
	return response.Bytes(), nil
}

// RespondBoth is Respond of two states, which share what they say alike of the same clusters.
func RespondBoth(before, after *State, r Request) (was, is *Response, err error) {
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

func respondLike(st *State, r Request, like *Response) (*Response, error) {
	response, failure := respond(st, r, like)
	if failure != nil {
		return nil, failure
	}
	return response, nil
}

// respond computes a response. Previous is that of another state with the same facts, whose parts it may share; nil for none.
func respond(st *State, r Request, previous *Response) (*Response, *Error) {
	q, failure := CheckQuery(st, r)
	if failure != nil {
		return nil, failure
	}
	var parts []*part
	if q.View == Components || q.View == Members {
		parts, failure = partsByCluster(st, q, previous)
	} else {
		parts, failure = onePart(st, q)
	}
	if failure != nil {
		return nil, failure
	}
	out := newResponse(st, opening, parts, closing)
	out.to = requesterOf(st, q)
	return out, nil
}

// onePart is a response of a view whose sets are not of single members.
func onePart(st *State, q query) ([]*part, *Error) {
	sets, failure := Generate(st, q)
	if failure != nil {
		return nil, failure
	}
	all, failure := encodeCluster(ClusterSets{Sets: sets})
	if failure != nil {
		return nil, failure
	}
	return []*part{newPart(nil, []*encodedCluster{all})}, nil
}

// partsByCluster is a response of a view that has sets of single members.
func partsByCluster(st *State, q query, previous *Response) ([]*part, *Error) {
	var old []*part
	if previous != nil && previous.to == requesterOf(st, q) {
		old = previous.parts
	}
	clusters := Candidates(st, q)
	parts := make([]*part, (len(clusters)+partSize-1)/partSize)
	problems := make([][]problem.Problem, len(parts))
	errs := make([]*Error, len(parts))
	Each(len(parts), func(i int) {
		of := clusters[i*partSize : min((i+1)*partSize, len(clusters))]
		if i < len(old) && slices.Equal(old[i].of, of) {
			parts[i] = old[i]
			return
		}
		all := make([]*encodedCluster, len(of))
		for j, c := range of {
			if all[j] = find(old, c); all[j] != nil {
				continue
			}
			sets := OfCluster(st, q, c)
			problems[i] = append(problems[i], sets.Problems...)
			if all[j], errs[i] = encodeCluster(sets); errs[i] != nil {
				return
			}
		}
		parts[i] = newPart(of, all)
	})
	if i := slices.IndexFunc(errs, func(e *Error) bool { return e != nil }); i >= 0 {
		return nil, errs[i]
	}
	var sum total
	for _, p := range parts {
		sum.add(p.total)
	}
	if failure := Judge(st, q, sum.Tally, slices.Concat(problems...)); failure != nil {
		return nil, failure
	}
	return parts, nil
}

package generator

import (
	"fmt"
	"strconv"
)

// Inputs is the answer to a request for Flux Operator, which knows one step of removal (rule 8): `{"inputs":[...]}` and a
// newline, the sets of Answer, each with its applicationName as `id`. The error is an *Error; then there is no answer at
// all (G1). It is not remembered: each asker asks once in some minutes, for little.
func (st *State) Inputs(r Request) ([]byte, error) {
	told, err := st.ToldInputs(r)
	if err != nil {
		return nil, err
	}
	return told.Bytes, nil
}

// ToldInputs is Inputs with what its sets are about.
func (st *State) ToldInputs(r Request) (*Told, error) {
	q, failure := st.query(r)
	if failure != nil {
		return nil, failure
	}
	q.planned = true
	sets, failure := st.sets(q)
	if failure != nil {
		return nil, failure
	}
	if failure := distinct(sets); failure != nil {
		return nil, failure
	}
	texts, failure := st.encoded(sets)
	if failure != nil {
		return nil, failure
	}
	for i, s := range sets { // beside the set: its digest is that of Answer
		texts[i].head = append([]byte(`{"id":`+strconv.Quote(s.common().ApplicationName)+`,`), texts[i].head[1:]...)
	}
	return &Told{Bytes: joined(`{"inputs":[`, texts, "]}\n"), Subjects: subjects(sets)}, nil
}

// distinct says which sets have one name, as those of component a-b on c and of a on b-c do.
func distinct(sets []set) *Error {
	clusters := make(map[string]string, len(sets))
	for _, s := range sets {
		c := s.common()
		if other, is := clusters[c.ApplicationName]; is {
			return &Error{Kind: Unavailable, Message: fmt.Sprintf("id %q is that of two sets, of clusters %q and %q; expected ids that are unique: "+
				"rename a component or a cluster, or ask for one component", c.ApplicationName, other, c.Name)}
		}
		clusters[c.ApplicationName] = c.Name
	}
	return nil
}

// encoded are sets as JSON, in order.
func (st *State) encoded(sets []set) ([]encodedSet, *Error) {
	texts, errs := make([]encodedSet, len(sets)), make([]error, len(sets))
	parallel(len(sets), func(i int) { texts[i], errs[i] = encode(sets[i], st.Revision) })
	for i, err := range errs {
		if err != nil {
			return nil, &Error{Kind: Unavailable, Message: fmt.Sprintf("cluster %q: %v", sets[i].common().Name, err)}
		}
	}
	return texts, nil
}

// joined are the elements of a JSON list between an opening and a closing.
func joined(opening string, elements []encodedSet, closing string) []byte {
	size := len(opening) + len(elements) + len(closing)
	for _, e := range elements {
		size += e.len()
	}
	out := append(make([]byte, 0, size), opening...)
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, e.head...), e.tail...)
	}
	return append(out, closing...)
}

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
	return told.Bytes(), nil
}

// ToldInputs is Inputs with what its sets are about.
func (st *State) ToldInputs(r Request) (*Told, error) {
	sets, failure := st.DesiredSets(r)
	if failure != nil {
		return nil, failure
	}
	if failure := distinct(sets); failure != nil {
		return nil, failure
	}
	all, failure := clusterSets{sets: sets}.encode()
	if failure != nil {
		return nil, failure
	}
	for i, e := range all.sets { // beside the set: its digest is that of Answer
		id := `{"id":` + strconv.Quote(e.subject.Name) + `,`
		all.sets[i].text = append([]byte(id), e.text[1:]...)
		if e.hole > 0 {
			all.sets[i].hole += len(id) - 1
		}
	}
	return st.newTold(`{"inputs":[`, []*part{newPart(nil, []*said{all})}, "]}\n"), nil
}

// distinct says which sets have one name, as those of component a-b on c and of a on b-c do.
func distinct(sets []ParameterSet) *Error {
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

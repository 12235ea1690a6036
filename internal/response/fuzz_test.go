package response_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// FuzzRequest: no input of getparams makes the engine panic; what is accepted is answered with JSON
// or refused with an error of a known kind, in the same way twice (G5, G6).
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"view":"members"}`, `{"view":"components","group":"addons","component":"dns"}`, `{"view":"releases","group":"addons","release":"canary"}`,
		`{"view":"agents","owner":"one"}`, `{"view":"components","group":"addons","selector":{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}}`,
		`{"view":"components","group":"addons","component":"x","base":{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"1"},"values":{"a":"{{ .cluster }}"}}}`,
		`{"view":1}`, `[]`, `null`, `{"view":"components","group":"addons","base":{"values":{"a":"{{ range 9999999999 }}{{ end }}"}}}`,
	} {
		f.Add(s)
	}
	st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small()), facts.NewSet(false))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, parameters string) {
		r, err := query.Parse([]byte(parameters), "hub")
		if err == nil {
			var first, second []byte
			first, err = response.Bytes(st, r)
			again, parseErr := query.Parse([]byte(parameters), "hub")
			require.NoError(t, parseErr)
			var err2 error
			second, err2 = response.Bytes(st, again)
			if !bytes.Equal(first, second) || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
				t.Fatalf("%q: %s %v, then %s %v", parameters, first, err, second, err2)
			}
			if err == nil && !json.Valid(first) {
				t.Fatalf("%q is answered %q", parameters, first)
			}
		}
		var known *problem.QueryError
		if err != nil && (!errors.As(err, &known) || err.Error() == "" || len(err.Error()) > 64<<10) {
			t.Fatalf("%q: %T of %d bytes", parameters, err, len(err.Error()))
		}
	})
}

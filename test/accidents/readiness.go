package accidents

import "encoding/json"

// Decided reports whether the service serves a commit, or says why it does not, by what its /readyz
// says. A commit without a single file is refused by the source, which knows no revision of
// nothing.
func Decided(readyz []byte, commit string, nothing bool) (bool, error) {
	var said struct {
		Revision string
		Refused  []struct{ Cause, Reason, Revision string }
	}
	if err := json.Unmarshal(readyz, &said); err != nil {
		return false, err
	}
	if said.Revision == commit {
		return true, nil
	}
	for _, refused := range said.Refused {
		if refused.Revision == commit || nothing && refused.Cause == "source" && refused.Reason == "empty" {
			return true, nil
		}
	}
	return false, nil
}

package refresh_test

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// TestDeletedFolderIsRefused proves rule 3 for a folder deleted by mistake; with the group's
// releases gone as well, it is meant.
func TestDeletedFolderIsRefused(t *testing.T) {
	h := start(t, nil)
	good := fleet(nil)
	h.say(good, nil)
	h.serving(good)

	gone := map[string]string{fleettest.SystemCatalog: "", "addons/defaults/addons/dns/values.yaml": ""}
	h.say(fleet(gone), nil)
	r := h.refused(refresh.Commit)
	if !strings.HasPrefix(r.Problem, `addons: group "addons": no file is left`) || h.r.State().Revision != good.Revision {
		t.Errorf("refused %+v, serving %s", r, h.r.State().Revision)
	}

	gone["versions/applicationSets.yaml"] = "releases: {}\n"
	meant := fleet(gone)
	h.say(meant, nil)
	h.serving(meant)
}

package refresh_test

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/refresh"
)

// TestDeletedFolderIsRefused proves rule 3 for a folder deleted by mistake; with the group's releases gone as well, it
// is meant.
func TestDeletedFolderIsRefused(t *testing.T) {
	h := start(t, nil)
	good := fleet(map[string]string{
		"addons/defaults/application-sets/addons.yaml": "components:\n  x: {enabled: true}\n",
		"addons/defaults/addons/x/values.yaml":         "a: 1\n",
	})
	h.say(good, nil)
	h.serving(good)

	h.say(fleet(nil), nil)
	r := h.refused(refresh.Commit)
	if !strings.HasPrefix(r.Problem, `addons: group "addons": no file is left`) || h.r.State().Revision != good.Revision {
		t.Errorf("refused %+v, serving %s", r, h.r.State().Revision)
	}

	meant := fleet(map[string]string{"versions/applicationSets.yaml": "releases: {}\n"})
	h.say(meant, nil)
	h.serving(meant)
}

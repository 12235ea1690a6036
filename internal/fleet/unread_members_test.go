package fleet

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// G1: a folder that cannot be read and may have member files refuses the commit. Its members would
// look removed.
func TestUnreadMembersRefuseTheCommit(t *testing.T) {
	for folder, refused := range map[string]bool{
		"fleet": true, "fleet/fleet-members": true, "fleet/fleet-members/hub": true, "fleet/fleet-members/other": true,
		"fleet/fleet-members/hub/c": false, "addons": false, "fleet/teams": false,
	} {
		files := map[string]*snapshot.File{folder: snapshot.Unreadable(folder, true, fs.ErrPermission), path: snapshot.NewFile(path, []byte(identity), 1000)}
		_, err := Load(snapshot.New("r", files), hierarchy.NewCache(), nil)
		var problems problem.List
		if refused != (errors.As(err, &problems) && problems[0].Reason == problem.MissingFile && problems[0].Pos.File == folder) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

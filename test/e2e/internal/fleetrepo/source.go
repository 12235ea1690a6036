package fleetrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
)

// Folders are a fleet's, at the root of its repository.
var Folders = []string{"addons", "charts", "fleet", "resources", "versions", "workloads"}

// Installation is the chart that a hub is installed with. No member gets it, and it links to the
// charts beside it.
const Installation = "charts/hub/"

// read reads a fleet's files out of a checkout, by path (1).
func read(ctx context.Context, source string, folders ...string) (map[string][]byte, error) {
	// The checkout may be another user's, as in containers; nothing of its configuration is
	// executed by ls-files.
	args := append([]string{"-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"}, folders...)
	list, err := gitcmd.Run(ctx, source, args...)
	if err != nil {
		return nil, fmt.Errorf("list the files of the fleet: %w\n  hint: expected a Git checkout of this repository", err)
	}
	root, err := os.OpenRoot(source)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := map[string][]byte{}
	for path := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		if strings.HasPrefix(path, Installation) {
			continue
		}
		data, err := root.ReadFile(filepath.FromSlash(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue // tracked, but removed in the working tree
		}
		if err != nil {
			return nil, err
		}
		files[path] = data
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has none of the folders %s: expected a checkout of this repository", source, strings.Join(folders, ", "))
	}
	return files, nil
}

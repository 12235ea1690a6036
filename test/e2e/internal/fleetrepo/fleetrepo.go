package fleetrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
)

// Upstream is this repository's address, as its files name it.
const Upstream = "https://github.com/argosy-hub/argosy"

// The branches of the demonstration's repository.
const (
	Main        = "main"
	ReleaseNext = "release-next"
)

// Options say what the demonstration's fleet is made of. All but Upstream are required.
type Options struct {
	Source    string   // checkout of this repository
	Upstream  string   // address that the files name it by; "" is Upstream
	Remote    string   // empty repository to push to
	ChartRepo string   // Helm repository that has all charts (Charts)
	Hub       string   // hub whose members are chosen
	Members   []string // its members that are there from the start, besides itself
	Dir       string   // folder for the clone; made if need be
}

// Repo is a clone of the demonstration's repository.
type Repo struct {
	dir    string
	root   *os.Root
	branch string
	fleet  fleet // rewritten, with all members
	hub    string
	kept   map[string]bool // of hub
}

// New makes the fleet and pushes it.
func New(ctx context.Context, o Options) (*Repo, error) {
	for name, value := range map[string]string{"Source": o.Source, "Remote": o.Remote, "ChartRepo": o.ChartRepo, "Hub": o.Hub, "Dir": o.Dir} {
		if value == "" {
			return nil, fmt.Errorf("fleet repository: Options.%s is required", name)
		}
	}
	if o.Upstream == "" {
		o.Upstream = Upstream
	}
	files, err := read(ctx, o.Source, Folders...)
	if err != nil {
		return nil, fmt.Errorf("fleet repository: %w", err)
	}
	if files, err = rewrite(files, o.Upstream, o.Remote, o.ChartRepo); err != nil {
		return nil, fmt.Errorf("fleet repository: %w", err)
	}
	onTrial(files)
	onPush(files)
	inSteps(files)
	fleet, err := newFleet(files)
	if err != nil {
		return nil, fmt.Errorf("fleet repository: %w", err)
	}
	r := &Repo{dir: o.Dir, branch: Main, fleet: fleet, hub: o.Hub, kept: map[string]bool{}}
	for _, name := range o.Members {
		if _, err := r.fleet.member(o.Hub, name); err != nil {
			return nil, fmt.Errorf("fleet repository: %w", err)
		}
		r.kept[name] = true
	}
	if err := r.create(ctx, o.Remote); err != nil {
		return nil, fmt.Errorf("fleet repository: %w", err)
	}
	return r, nil
}

// onTrial moves the canary releases to the branch release-next (6).
func onTrial(files map[string][]byte) {
	const versions, key = "versions/applicationSets.yaml", "chartRepoRevision: "
	if text, ok := files[versions]; ok {
		files[versions] = bytes.ReplaceAll(text, []byte(key+"HEAD\n"), []byte(key+ReleaseNext+"\n"))
	}
}

// onPush has the ApplicationSets of bootstraps ask again after hours, so that a slow run
// sees what a push causes and nothing else (7).
func onPush(files map[string][]byte) {
	for path, text := range files {
		files[path] = bytes.ReplaceAll(text, []byte("requeueAfterSeconds: 600\n"), []byte("requeueAfterSeconds: 36000\n"))
	}
}

// inSteps has what one commit removes count for no other (10).
func inSteps(files map[string][]byte) {
	files[layoutFile] = append(files[layoutFile], "\nguard: {maxRemovals: 10%, window: 0s}\n"...)
}

// create makes the clone and its first commit, and pushes it.
func (r *Repo) create(ctx context.Context, remote string) error {
	if err := os.MkdirAll(r.dir, 0o750); err != nil {
		return err
	}
	switch entries, err := os.ReadDir(r.dir); {
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: expected a folder for a new clone", r.dir)
	}
	var err error
	if r.root, err = os.OpenRoot(r.dir); err != nil {
		return err
	}
	if _, err := r.git(ctx, "init", "--quiet", "--initial-branch="+Main, "--template="); err != nil {
		return err
	}
	if _, err := r.git(ctx, "remote", "add", "origin", remote); err != nil {
		return err
	}
	files := r.fleet.left(r.keeps)
	for path := range files {
		if err := r.Write(path, r.fleet.text(path, files)); err != nil {
			return err
		}
	}
	if _, err := r.Commit(ctx, "The fleet"); err != nil {
		return err
	}
	_, err = r.git(ctx, "push", "--quiet", "origin", Main+":"+ReleaseNext)
	return err
}

// keeps tells whether a member is in the repository.
func (r *Repo) keeps(m member) bool {
	return m.hub != r.hub || m.isHub() || r.kept[m.cluster]
}

// Path is the clone's folder. A test that changes something there commits it with Commit, or with
// git.
func (r *Repo) Path() string { return r.dir }

// Branch is what Commit and ForcePush push to.
func (r *Repo) Branch() string { return r.branch }

// Read returns a file's text.
func (r *Repo) Read(path string) (string, error) {
	data, err := r.root.ReadFile(path)
	return string(data), err
}

// Write writes a file, and its folders if need be.
func (r *Repo) Write(path, text string) error {
	if err := r.root.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return r.root.WriteFile(path, []byte(text), 0o600)
}

// Remove removes a file.
func (r *Repo) Remove(path string) error { return r.root.Remove(path) }

// Replace replaces a text that a file has exactly once.
func (r *Repo) Replace(path, old, replacement string) error {
	text, err := r.Read(path)
	if err != nil {
		return err
	}
	if n := strings.Count(text, old); n != 1 {
		return fmt.Errorf("%s: found %q %d times, expected it once", path, old, n)
	}
	return r.Write(path, strings.Replace(text, old, replacement, 1))
}

// Commit commits everything that was changed in the clone and pushes it; it returns the commit's
// id. Nothing to commit is an error.
func (r *Repo) Commit(ctx context.Context, message string) (string, error) {
	if _, err := r.git(ctx, "add", "--all"); err != nil {
		return "", err
	}
	switch changes, err := r.git(ctx, "status", "--porcelain"); {
	case err != nil:
		return "", err
	case changes == "":
		return "", fmt.Errorf("commit %q: nothing has changed in %s", message, r.dir)
	}
	if _, err := r.git(ctx, "commit", "--quiet", "-m", message); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, "push", "--quiet", "--set-upstream", "origin", r.branch); err != nil {
		return "", err
	}
	return r.Head(ctx)
}

// Head is the id of the branch's last commit in the clone.
func (r *Repo) Head(ctx context.Context) (string, error) {
	return r.git(ctx, "rev-parse", "HEAD")
}

// ForcePush sets the branch back to a commit, here and on the server. What is not committed is
// lost.
func (r *Repo) ForcePush(ctx context.Context, revision string) error {
	if _, err := r.git(ctx, "reset", "--quiet", "--hard", revision); err != nil {
		return err
	}
	_, err := r.git(ctx, "push", "--quiet", "--force", "origin", r.branch)
	return err
}

// Switch switches the clone to another branch of the server, as it is there. What is not committed
// goes along, or is an error where it would be overwritten.
func (r *Repo) Switch(ctx context.Context, branch string) error {
	if _, err := r.git(ctx, "fetch", "--quiet", "origin", branch); err != nil {
		return err
	}
	if _, err := r.git(ctx, "switch", "--quiet", "-C", branch, "FETCH_HEAD"); err != nil {
		return err
	}
	r.branch = branch
	return nil
}

func (r *Repo) git(ctx context.Context, args ...string) (string, error) {
	author := []string{"-c", "user.name=Argosy", "-c", "user.email=argosy@example.com"}
	out, err := gitcmd.Run(ctx, r.dir, append(author, args...)...)
	return strings.TrimSpace(out), err
}

// MemberFile is where a member of the hub has its file and what is in it, whether it is in the
// repository or not.
func (r *Repo) MemberFile(cluster string) (path, text string, err error) {
	m, err := r.fleet.member(r.hub, cluster)
	return m.path, string(r.fleet.files[m.path]), err
}

// AddMember writes a member's file, and what of the hierarchy was left out as nobody else reads it.
// The caller commits.
func (r *Repo) AddMember(cluster string) error {
	if _, err := r.fleet.member(r.hub, cluster); err != nil {
		return err
	}
	before := r.fleet.left(r.keeps)
	r.kept[cluster] = true
	var errs []error
	now := r.fleet.left(r.keeps)
	for path := range now {
		if text := r.fleet.text(path, now); !before[path] || text != r.fleet.text(path, before) {
			errs = append(errs, r.Write(path, text))
		}
	}
	return errors.Join(errs...)
}

// SecretKeys are the names of the secrets with the members' credentials (secretManagerSecretName),
// by the member's name, for all members of the hub that have one, in the repository or not.
func (r *Repo) SecretKeys() map[string]string {
	keys := map[string]string{}
	for _, m := range r.fleet.members {
		if m.hub == r.hub && m.SecretManagerSecretName != "" {
			keys[m.cluster] = m.SecretManagerSecretName
		}
	}
	return keys
}

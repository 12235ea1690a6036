package fleetrepo

import "context"

// Fork makes a branch of what is checked out, pushes it, and goes on from there; Switch goes back.
func (r *Repo) Fork(ctx context.Context, branch string) error {
	if _, err := r.git(ctx, "switch", "--quiet", "--create", branch); err != nil {
		return err
	}
	r.branch = branch
	_, err := r.git(ctx, "push", "--quiet", "origin", branch)
	return err
}

package hub

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
)

// Who reads the private repositories of teams.
const (
	reader   = "reader"
	password = "of the demo"
)

// governanceSecret has what the repository governance/workloads asks for, in Argo CD's namespace.
const governanceSecret = "governance-git"

// StorefrontSecret has what the repository storefront/web asks for: External Secrets makes it of
// StorefrontKey when the file of that member names it.
const (
	StorefrontSecret = "retail-prod-eu-1-git-storefront"
	StorefrontKey    = "github/retail/storefront"
)

// TeamRepository is a repository of a team on the Git server.
type TeamRepository struct {
	*fleetrepo.Repo
	URL    string // without credentials
	Clone  string // with them, for git
	Mount  string // its path in the fleet
	Team   string
	Secret string // with its credentials; empty where it asks for none
}

// teamRepositories are those of examples/repositories, by name.
func teamRepositories() map[string]*TeamRepository {
	return map[string]*TeamRepository{
		"governance/workloads": {Mount: "apps/governance", Team: "checkout", Secret: governanceSecret},
		"checkout/orders":      {Mount: "apps/orders", Team: "checkout"},
		"storefront/web":       {Mount: "apps/storefront", Team: "storefront", Secret: StorefrontSecret},
	}
}

// serveTeams makes the repositories of teams.
func (h *Hub) serveTeams(ctx context.Context) error {
	h.Teams = teamRepositories()
	for name, r := range h.Teams {
		if _, err := h.Git.Create(name); err != nil {
			return err
		}
		r.URL = strings.TrimSuffix(h.Git.URL(name), ".git")
		r.Clone = r.URL
		if r.Secret != "" {
			var err error
			if r.Clone, err = h.Git.Private(name, reader, password); err != nil {
				return err
			}
		}
		folder := filepath.Base(r.Mount)
		var err error
		if r.Repo, err = fleetrepo.NewTeam(ctx, h.o.Checkout, folder, r.Clone, filepath.Join(h.o.Dir, "teams", folder)); err != nil {
			return err
		}
	}
	return nil
}

// Mount has the fleet read the repositories of all teams, with what governance says of its members
// alone. The service has the credentials of each.
func (h *Hub) Mount(ctx context.Context) error {
	secret := fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s}, stringData: {username: %s, password: %s}}\n", StorefrontSecret, reader, password)
	if err := h.Kube.Apply(ctx, Namespace, []byte(secret)); err != nil {
		return err
	}
	if err := h.Plugin.Sync(ctx); err != nil {
		return err
	}
	governance := h.Teams["governance/workloads"]
	if err := governance.Remove("tenants/payments/clusters/payments-staging-eu-1/application-sets/workloads.yaml"); err != nil {
		return err
	}
	if _, err := governance.Commit(ctx, "The clusters of this hub"); err != nil {
		return err
	}
	layout, err := h.Fleet.Read("fleet/layout.yaml")
	if err != nil {
		return err
	}
	layout += "\n# Repositories of others: each says where and how applications of its team run, and nothing else.\nmounts:\n"
	for _, name := range slices.Sorted(maps.Keys(h.Teams)) {
		r := h.Teams[name]
		layout += fmt.Sprintf("  %s: {url: %q, team: %s%s}\n", r.Mount, r.URL, r.Team, credentialsOf(r))
	}
	if err := h.Fleet.Write("fleet/layout.yaml", layout); err != nil {
		return err
	}
	_, err = h.Fleet.Commit(ctx, "Mount the repositories of the teams")
	return err
}

// mounts are the values of charts/generator-plugin.
func (h *Hub) mounts() (out []map[string]string) {
	for _, r := range h.Teams {
		if r.Secret != "" {
			out = append(out, map[string]string{"name": r.Secret, "secret": r.Secret})
		}
	}
	return out
}

// credentialsOf names a private repository's in the layout.
func credentialsOf(r *TeamRepository) string {
	if r.Secret == "" {
		return ""
	}
	return ", credentials: " + r.Secret
}

// Credentials are what a private repository of a team asks for, as the secret store has them.
const Credentials = `{"username": "` + reader + `", "password": "` + password + `"}`

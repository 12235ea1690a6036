package scaffold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Charts is the registry of Argosy's charts.
var Charts = charts.Registry

// Platform is the tenant of the hub itself.
const Platform = "platform"

// Installation describes a hub and its repository.
type Installation struct {
	Hub string
	// RepoURL and Revision are the address and revision at which Argo CD reads the fleet
	// repository.
	RepoURL, Revision string
	// Platform is the tenant of the hub itself, HubEnvironment its environment.
	Platform, HubEnvironment string
	// Charts and Version are the registry and the version of Argosy's charts.
	Charts, Version string
	// Minimal selects a fleet without registration and releases: ApplicationSets with the view
	// components.
	Minimal bool
	// Like is one of Shapes, whose folders the fleet has; empty for Argosy's own.
	Like string
}

// Fleet describes a new fleet: a hub, and one tenant with one member.
type Fleet struct {
	Installation
	Tenant, Member, Environment string
}

// registrationFile holds the values, for all clusters, of the chart that registers members.
const registrationFile = "addons/defaults/fleet/fleet-secret/values.yaml"

// named is a flag with the name it was given.
type named struct{ flag, name string }

func checkNames(all ...named) error {
	for _, n := range all {
		if !labels.IsName(n.name) {
			return refuse("--%s: %q is not a name: lower case letters, digits and inner hyphens, at most 63", n.flag, n.name)
		}
	}
	return nil
}

// scpLike is the form user@host:path of an SSH URL.
var scpLike = regexp.MustCompile(`^([\w.-]+@)?[\w.-]+:[^\s/][^\s]*$`)

func isSCP(address string) bool {
	return scpLike.MatchString(address) && !strings.Contains(address, "://")
}

// checkURL refuses an address that is not a Git repository, a Helm repository or a registry. It
// also refuses an address with a password, which would be in Git.
func checkURL(flag, address string) error {
	whole := address
	if !strings.Contains(address, "://") {
		whole = "oci://" + address // a registry, which Argo CD names without a scheme
	}
	u, err := url.Parse(whole)
	switch {
	case strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return refuse("--%s: has a space or a control character; expected a URL such as %s", flag, exampleURL)
	case err != nil && isSCP(address):
		return nil
	case err != nil: // the error may quote a password
		return refuse("--%s: is not a URL; expected one such as %s", flag, exampleURL)
	}
	if _, secret := u.User.Password(); secret {
		return refuse("--%s: has a password; expected the URL without, and a Secret with the credentials", flag)
	}
	return nil
}

const exampleURL = "https://git.example.com/platform/fleet.git"

// version matches the version of a chart, as Helm reads it.
var version = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`)

func (h Installation) check() error {
	if err := checkURL("repo-url", h.RepoURL); err != nil {
		return err
	}
	u, err := url.Parse(h.RepoURL)
	isURL := err == nil && u.Scheme != "" && (u.Host != "" || u.Scheme == "file")
	switch {
	case !isURL && !isSCP(h.RepoURL):
		return refuse("--repo-url: %q is not the URL of a Git repository; expected the URL that Argo CD reads this repository at, for example %s", h.RepoURL, exampleURL)
	case h.Revision == "" || strings.ContainsAny(h.Revision, " \t\r\n"):
		return refuse("--revision: %q; expected a branch, a tag or a commit", h.Revision)
	case !version.MatchString(h.Version):
		return refuse("--charts-version: %q; expected a version such as 1.2.3", h.Version)
	case h.Charts == "" || strings.ContainsAny(h.Charts, " \t\r\n"):
		return refuse("--charts: %q; expected a registry such as %s", h.Charts, Charts)
	}
	return checkNames(named{"hub", h.Hub}, named{"platform", h.Platform}, named{"hub-environment", h.HubEnvironment})
}

func (f Fleet) check() error {
	if err := f.Installation.check(); err != nil {
		return err
	}
	if err := checkNames(named{"tenant", f.Tenant}, named{"member", f.Member}, named{"environment", f.Environment}); err != nil {
		return err
	}
	switch {
	case f.Like != "" && f.Like != shapeEKS:
		return problem.CheckChoice("like", f.Like, Shapes...)
	case f.Like != "" && f.Minimal:
		return refuse("--like does not go with --minimal: that shape has releases and registers its members")
	case f.Tenant == f.Platform:
		return refuse("--tenant: %q is the tenant of the hub itself", f.Tenant)
	case f.Member == f.Hub:
		return refuse("--member: %q is the hub, which is a member already", f.Member)
	}
	return nil
}

// newStarter returns a fleet with one release of each group of the default layout.
func newStarter(f Fleet) starter {
	s := starter{Fleet: f, Group: "addons", Types: map[string][]string{}, BootstrapFolder: "defaults"}
	for _, group := range fleet.DefaultLayout().GroupNames() {
		s.Types[group] = []string{release.DefaultType}
	}
	if f.Tenant != "" {
		s.Projects = []project{{f.Tenant, f.Hub, []string{f.Member}}}
	}
	return s
}

// IsMirrored reports that the charts come from another registry than Argosy's own.
func (h Installation) IsMirrored() bool { return h.Charts != Charts }

// Install returns the command that installs the hub.
func (h Installation) Install() string {
	set := []string{"service.hub=" + h.Hub, "service.source.git.url=" + h.RepoURL}
	if h.Revision != "main" {
		set = append(set, "service.source.git.ref="+h.Revision)
	}
	switch {
	case h.Minimal:
		set = append(set, "install.roots=false", "secretStore.provider=none")
	case h.IsMirrored():
		set = append(set, "charts.repoURL="+h.Charts)
	}
	return fmt.Sprintf("helm install argosy oci://%s/hub --version %s --namespace argocd \\\n    --set %s", h.Charts, h.Version, strings.Join(set, " \\\n    --set "))
}

// installed returns the steps that push a commit and install the hub.
func (h Installation) installed(push string) []string {
	return append([]string{push}, strings.Split(h.Install(), "\n")...)
}

// NewFleet drafts a whole fleet. The folder must be empty, except for Git's own files, or have the
// shape that the fleet follows.
func NewFleet(ctx context.Context, r Repository, f Fleet) (*Draft, error) {
	f.Charts = strings.TrimPrefix(f.Charts, "oci://")
	if err := f.check(); err != nil {
		return nil, err
	}
	if there, err := os.Stat(filepath.Join(r.Folder, likeMembers)); f.Like != "" && err == nil && there.IsDir() {
		return newLike(ctx, r, f)
	}
	if err := checkEmpty(r.Folder); err != nil {
		return nil, err
	}
	s, bootstrap := newStarter(f), path.Join(expand.Bootstrap, f.Hub)
	s.Catalogs = map[string][]string{"addons": {"fleet/catalogs/addons.yaml"}}
	names := map[string]string{
		"README.md":                  "README.md",
		fleet.LayoutFile:             "layout.yaml",
		"fleet/catalogs/addons.yaml": "catalog.yaml",
		path.Join(f.MembersFolder(), f.Member+".yaml"): "member.yaml",
	}
	switch {
	case f.Minimal:
		names[path.Join(bootstrap, "addons.yaml")] = "components.yaml"
	default:
		names["versions/applicationSets.yaml"] = "applicationSets.yaml"
		names["versions/fleetSecrets.yaml"] = "fleetSecrets.yaml"
		names[s.SwitchedOn()] = "addons.yaml"
		names[registrationFile] = "fleet-secret.yaml"
	}
	if f.Like != "" {
		names[fleet.LayoutFile] = "like-layout.yaml"
	} else {
		names[path.Join(f.MembersFolder(), f.Hub+".yaml")] = "hub.yaml"
	}
	d := &Draft{Repository: r, Files: map[string]string{}, before: snapshot.FromMap(nil)}
	d.texts(s, names)
	st, err := r.state(d.after())
	if err != nil {
		return nil, err
	}
	s.Repositories = chartRepositories(st, f.Hub, d.isOwn)
	d.texts(s, map[string]string{path.Join(bootstrap, "argosy.yaml"): "argosy.yaml"})
	begin := "git add . && git commit -m \"Begin the fleet\""
	if _, err := os.Stat(filepath.Join(r.Folder, ".git")); errors.Is(err, fs.ErrNotExist) {
		begin = "git init && " + begin
	}
	register := fmt.Sprintf("kubectl --namespace fleet-secrets create secret generic %s --from-literal=server=URL --from-file=config=config.json", f.Member)
	if f.Minimal {
		register = "argocd cluster add CONTEXT --name " + f.Member
	}
	return d.ready(append(f.installed(fmt.Sprintf("%s && git push %s HEAD:%s", begin, f.RepoURL, f.Revision)), register)...)
}

// checkEmpty refuses a folder that holds anything but Git's own files.
func checkEmpty(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return problem.Usage([]string{"make the folder first: git init " + folder}, "%w", err)
	}
	var found []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		if name != ".git" && name != ".git/" {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return problem.Usage([]string{
		"init takes an empty folder, or a repository without files; " + nothingWritten,
		"argosy new hub, member, tenant and component add files to a fleet that is there",
	}, "%s is not empty: it has %s", folder, problem.Truncate(strings.Join(found, ", "), 300))
}

// NewHub drafts a hub of a fleet: its member file and its bootstrap.
func NewHub(ctx context.Context, r Repository, h Installation) (*Draft, error) {
	d, st, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	h.Charts, h.Minimal = strings.TrimPrefix(h.Charts, "oci://"), d.layout.ApplicationSets == ""
	url, revision := repositoryOf(st)
	if h.RepoURL == "" && url == "" {
		return nil, refuse("--repo-url is required: no hub declares fleet_repo_url")
	}
	h.RepoURL, h.Revision = cmp.Or(h.RepoURL, url), cmp.Or(h.Revision, revision, "main")
	if err := h.check(); err != nil {
		return nil, err
	}
	member, err := Member{Hub: h.Hub, Name: h.Hub, Tenant: h.Platform, Environment: h.HubEnvironment}.path(d.layout)
	if err != nil {
		return nil, err
	}
	bootstrap := path.Join(expand.Bootstrap, h.Hub)
	if d.before.HasDir(bootstrap) || d.before.File(bootstrap+".yaml") != nil {
		return nil, errExists(bootstrap)
	}
	data := newStarter(Fleet{Installation: h})
	for _, hub := range st.Fleet.Hubs() { // whose catalogs are the new one's, too
		data.Repositories = append(data.Repositories, chartRepositories(st, hub, d.isOwn)...)
	}
	slices.Sort(data.Repositories)
	data.Repositories = slices.Compact(data.Repositories)
	d.texts(data, map[string]string{member: "hub.yaml", path.Join(bootstrap, "argosy.yaml"): "argosy.yaml"})
	for _, group := range d.layout.GroupNames() {
		if data.Group = group; h.Minimal && len(d.layout.Groups[group].Catalogs) > 0 {
			d.texts(data, map[string]string{path.Join(bootstrap, group+".yaml"): "components.yaml"})
		}
	}
	return d.ready(append(h.installed(commit("Add the hub "+h.Hub)),
		fmt.Sprintf("argosy new tenant --hub %s --name NAME", h.Hub), fmt.Sprintf("argosy new member --hub %s --name NAME --tenant TENANT --environment ENVIRONMENT", h.Hub))...)
}

// repositoryOf returns the URL and the revision of the fleet repository as the first hub declares
// them.
func repositoryOf(st *fleetstate.State) (url, revision string) {
	for _, hub := range st.Fleet.Hubs() {
		if url, revision := st.Fleet.HubMember(hub).FleetRepository(); url.Value != "" {
			return url.Value, revision.Value
		}
	}
	return "", ""
}

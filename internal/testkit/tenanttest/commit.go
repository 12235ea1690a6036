package tenanttest

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/tree"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// Change is a fleet after a commit of tenant Red.
type Change struct {
	Files fleettest.Tree
	// Links are symbolic links by path.
	Links map[string]string
	// Submodules are paths of other repositories.
	Submodules []string
	// Members reports that the commit changes files of members, not only the tenant's folders.
	Members bool
}

// Commit returns the fleet after a commit of tenant Red that the data selects.
func Commit(files fleettest.Tree, data []byte) Change {
	d := &decisions{data}
	c := Change{Files: maps.Clone(files), Links: map[string]string{}}
	for range []int{1, 1, 1, 1, 2, 2, 3, 5}[d.below(8)] {
		switch d.below(16) {
		case 0, 1, 2, 3, 4, 5, 6, 7, 8, 9:
			c.write(d)
		case 10:
			c.obstruct(d)
		case 11:
			c.remove(d)
		case 12:
			c.rename(d)
		case 13, 14:
			c.link(d)
		default:
			c.member(d)
		}
	}
	return c
}

// level returns a folder that tenant Red may have: mostly one that its clusters read, else an odd
// one.
func level(d *decisions) string {
	root := d.pick("addons", "addons", "addons", "addons", "addons", "addons", "resources") + "/tenants/red/"
	if d.below(4) < 3 {
		return root + d.pick("defaults", "environments/prod", "clusters/red-0", "environments/dev", "clusters/red-1", "clusters/red-2")
	}
	return root + d.pick(
		"clusters/blue-0", "tenants/blue/defaults", "environments/blue", "defaults/addons/tenants/blue/defaults", "clusters/hub", "clusters/red-0 ", "CLUSTERS/red-0", "environments/pröd", "defaults/\u202e")
}

// write writes a file.
func (c *Change) write(d *decisions) {
	dir, template := level(d), d.pick("", "", ".gotmpl")
	var p, text string
	switch kind := d.below(8); {
	case kind < 3:
		p, text = "/addons/"+component(d)+"/values.yaml", mapping(d, 0)
	case kind < 5:
		p, text = "/application-sets/"+d.pick("addons", "addons", "addons", "addons", "addons", "fleet", "resources", "monitoring", "red")+".yaml", entries(d)
	case kind < 7:
		p, text = "/fleet/"+d.pick("fleet-secret", "fleet-secret", "agent", "argo-cd")+"/values.yaml", registration(d)
	default:
		p, text = "/"+d.pick("values.yaml", "addons/values.yaml", "addons/dns/values.yml", "addons/dns/Values.yaml", "a\nb.yaml", "\x1b[31m.yaml", ".argosy.yaml", "layout.yaml", "fleet/layout.yaml", strings.Repeat("a/", 40)+"values.yaml", "addons/portal/identity.yaml"), mapping(d, 0)
	}
	switch d.below(24) {
	case 21:
		text = d.raw() // arbitrary bytes
	case 22:
		text += d.pick("---\na: 1\n", "\x00", "\xff\xfe", "from: twice\n", "<<<<<<< HEAD\n", "# \u2028x\n", "? [complex]\n: key\n", "&anchor\n", "a: *missing\n")
	case 23:
		text = d.pick("&l0 ", "") + strings.Repeat("[", 1+2*d.below(256)) + text
	}
	if p = dir + p + template; !strings.Contains(p, "..") {
		c.Files[p] = text
		delete(c.Links, p)
	}
}

// own returns the paths that the tenant may change, sorted.
func (c *Change) own() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Files)), func(p string) bool { return !isRedFile(p) || isRedMember(p) })
}

func (c *Change) remove(d *decisions) {
	if own := c.own(); len(own) > 0 {
		delete(c.Files, own[d.below(len(own))])
	}
}

func (c *Change) rename(d *decisions) {
	from, to := level(d)+"/", level(d)+"/"
	if strings.HasPrefix(to, from) {
		return
	}
	for p, text := range maps.Clone(c.Files) {
		if rest, ok := strings.CutPrefix(p, from); ok {
			delete(c.Files, p)
			c.Files[to+rest] = text
		}
	}
}

// link puts a symbolic link to a file or a folder into the tenant's folder.
func (c *Change) link(d *decisions) {
	p := level(d) + d.pick("/addons/dns/values.yaml", "/addons/dns", "/fleet", "/addons", "", "/application-sets/addons.yaml", "/loop", "/fleet/fleet-secret/values.yaml", "/addons/dns/values.yaml.gotmpl")
	to := d.pick("/addons/tenants/blue", "/addons/tenants/blue/defaults/addons/dns/values.yaml", "/fleet/layout.yaml", "/versions/applicationSets.yaml", "/addons", "/", ".", "loop", "../../../../../../../../etc/passwd", "/etc/passwd", "",
		"/addons/defaults/fleet/fleet-secret/values.yaml", "/addons/tenants/red/defaults", "/catalog.yaml", "/addons/defaults/application-sets/addons.yaml", "/fleet/fleet-members/hub/blue-0.yaml", "nowhere.yaml")
	for q := range maps.Clone(c.Files) { // in Git, a path is a link or a folder
		if q == p || strings.HasPrefix(q, p+"/") {
			delete(c.Files, q)
		}
	}
	for q := range c.Links {
		if strings.HasPrefix(q, p+"/") || strings.HasPrefix(p, q+"/") {
			return
		}
	}
	c.Links[p] = to
}

// obstruct puts a file, a folder or a submodule where another kind is expected.
func (c *Change) obstruct(d *decisions) {
	p := level(d) + d.pick("", "/addons", "/addons/dns", "/addons/dns/values.yaml", "/application-sets", "/application-sets/addons.yaml", "/fleet/fleet-secret", "/addons/dns/values.yaml.gotmpl")
	if c.isRedMembersFolder(d) {
		p = d.pick("fleet/members/red/hub/red-0.yaml", "fleet/members/red/hub/red-7.yaml", "fleet/members/red/hub/red-0.yaml/x")
	}
	if c.Files[p] != "" && d.oneIn(2) {
		delete(c.Files, p)
	}
	for q := range maps.Clone(c.Files) {
		if q == p || strings.HasPrefix(q, p+"/") || strings.HasPrefix(p, q+"/") {
			delete(c.Files, q)
		}
	}
	for q := range c.Links {
		if q == p || strings.HasPrefix(q, p+"/") || strings.HasPrefix(p, q+"/") {
			return
		}
	}
	switch d.below(3) {
	case 0:
		if isRedMember(p) {
			c.Members = true
		}
		c.Files[p] = "a: 1\n"
	case 1:
		c.Files[p+"/x.yaml"] = "a: 1\n"
	default:
		c.Submodules = append(c.Submodules, p)
	}
	c.Members = c.Members || strings.HasPrefix(p, "fleet/")
}

// hasTenantsPath reports whether the paths of member files name the tenant.
func (c *Change) hasTenantsPath() bool { return c.Files[fleettest.Member(Hub)] == "" }

func (c *Change) isRedMembersFolder(d *decisions) bool { return c.hasTenantsPath() && d.oneIn(4) }

// member changes a file of one of the tenant's members, or removes it.
func (c *Change) member(d *decisions) {
	c.Members = true
	name := d.pick("red-0", "red-1", "red-2")
	p := member(c.hasTenantsPath(), Red, name)
	if c.hasTenantsPath() && d.oneIn(4) { // of another hub, or of none
		p = "fleet/members/red/" + d.pick("hub-2", "hub-2", "HUB") + "/" + name + ".yaml"
	}
	switch d.below(4) {
	case 0:
		delete(c.Files, p)
	case 1:
		c.Files[p] = d.pick("", "[\n", "tenant: [\n", "clusterName: {a: b}\n", "clusterName: blue-0\n", "null\n")
	default:
		text := "clusterName: " + name + "\ntenant: " + d.pick("red", "red", "blue", "platform", "defaults") + "\nenvironment: " + d.pick("dev", "prod", "other") + "\n"
		for range d.below(4) {
			if c.hasTenantsPath() && d.oneIn(6) {
				text += "fleet_member: hub-cluster\n"
			}
			text += d.pick("addons_repo_basepath: addons/tenants/blue\n", "fleet_repo_basepath: ../x\n", "fleet_repo_basepath: x/tenants/red\n", "labels: {tenant: blue}\n", "labels: {addonsRelease: canary}\n", "labels: {cluster_name: blue-0}\n",
				"annotations: {cluster_name: blue-1}\n", "use_remote_argo: true\nenable_remote_addons: true\n", "remote_engine: flux\n", "lifecycle: retired\n", "lifecycle: draining\n", "deletion: cascade\n",
				"secretManagerSecretName: hub/blue-0\n", "githubSecret: true\ngithubSecretName: github/blue/app\n", "fleet_repo_url: https://evil.example\n", "use_fleet_ack: true\n", "push_argo_secrets: true\n")
		}
		c.Files[p] = text
	}
}

// Snapshot returns the commit as a source reads it, with its links followed. It fails if a limit is
// exceeded.
func (c Change) Snapshot(revision string) (*snapshot.Snapshot, error) {
	t := tree.New("test", source.Limits{}.WithDefaults(), len(c.Files)+len(c.Links))
	for p := range c.Files {
		t.Add(&tree.Node{Path: p})
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			t.AddFolder(dir)
		}
	}
	for _, p := range c.Submodules {
		t.AddSubmodule(p)
	}
	for p, target := range c.Links {
		t.Add(&tree.Node{Path: p, Link: true, Target: target})
	}
	placed, broken, err := t.Place()
	if err != nil {
		return nil, err
	}
	files := make(map[string]*snapshot.File, len(placed)+len(broken))
	for _, f := range placed {
		files[f.Path] = snapshot.NewFile(f.Path, []byte(c.Files[f.Node.Path]), snapshot.MaxFileSize)
	}
	for _, f := range broken {
		files[f.Path] = f
	}
	obstacles := slices.CompactFunc(t.Obstacles(nil), func(a, b *snapshot.File) bool { return a.Path == b.Path })
	return snapshot.New(revision, files).WithObstacles(obstacles), nil
}

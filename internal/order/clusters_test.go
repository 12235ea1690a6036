package order_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/order"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// The components of the simulated fleets, by group. Each of the cloud's things belongs to one.
var simulated = map[string][]string{
	"provisioning": {"eks", "eks-nodes"},
	"addons":       {"dns", "web"},
	"workloads":    {"shop"},
}

// hubOfClusters simulates a hub that makes clusters: Argo CD, a provider of a cloud, and the
// service between them, each of which acts when the test says so.
type hubOfClusters struct {
	*testing.T
	rand    *rand.Rand
	files   fleettest.Tree
	commits int
	state   *fleetstate.State
	order   *order.Order
	// snapshot is the repository that is served, responses is what the service remembers.
	snapshot  *snapshot.Snapshot
	responses *response.Cache
	// store outlives the service; stop ends what writes to it. served is the repository that the
	// service has written down last, and revision its name.
	store    *store.Store
	stop     func()
	served   fleettest.Tree
	revision string
	// apps are the hub's Applications, and deleting those whose workloads are being removed.
	apps     map[string]facts.Application
	deleting map[string]bool
	// known are the clusters that have ever been registered.
	known map[string]bool
	// cloud has what runs, by the name of its Application; down says that the provider does
	// nothing.
	cloud map[string]bool
	down  bool
	// asked has the versions in the sets of Applications, seen those in the provider's cloud;
	// stuck is a control plane that the provider does not change.
	asked, seen map[string]int
	stuck       string
	log         []string
}

// memberOf is what a member file says of a cluster that the hub makes.
func memberOf(name, more string) string { return memberAt(name, 31, more) }

func memberAt(name string, minor int, more string) string {
	return fmt.Sprintf("clusterName: %s\ntenant: shop\nenvironment: prod\nprovision: {class: eks, version: \"1.%d\"}\n%s", name, minor, more)
}

func newHubOfClusters(t *testing.T, seed uint64, members []string) *hubOfClusters {
	t.Helper()
	h := &hubOfClusters{
		T: t, rand: rand.New(rand.NewPCG(seed, 19)), apps: map[string]facts.Application{}, deleting: map[string]bool{}, known: map[string]bool{}, cloud: map[string]bool{},
		asked: map[string]int{}, seen: map[string]int{},
		files: fleettest.Tree{
			"fleet/layout.yaml":             "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  teams: {root: addons, catalog: catalogs/teams.yaml}\n  provisioning: {catalog: catalogs/provisioning.yaml}\n  workloads: {root: addons, catalog: catalogs/workloads.yaml}\nguard: {maxRemovals: 100%}\n",
			"versions/applicationSets.yaml": "releases: {}\n",
			"versions/fleetSecrets.yaml":    "releases: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]\n",
			fleettest.Member("hub"):         "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
			"catalogs/provisioning.yaml": "eks: {enabled: true, chart: {repoURL: r, path: p, version: v}}\n" +
				"eks-nodes: {enabled: true, dependsOn: [eks], chart: {repoURL: r, path: p, version: v}}\n",
			"catalogs/teams.yaml":     "team: {chart: {repoURL: r, path: p, version: v}}\nteam-project: {chart: {repoURL: r, path: p, version: v}}\n",
			"fleet/teams/sales.yaml":  "{apiVersion: argosy.dev/v1alpha1, kind: Team, name: sales, tenant: shop, owners: [sales], clusters: {}, namespaces: [{name: sales, preset: small}], repositories: [https://charts.example/*]}\n",
			"catalogs/workloads.yaml": "shop: {enabled: true, team: sales, namespace: sales, chart: {repoURL: https://charts.example/shop, name: dns, version: 1.0.0}}\n",
			fleettest.SystemCatalog:   "dns: {enabled: true, " + fleettest.DNSChart + "}\nweb: {enabled: true, dependsOn: [dns], " + fleettest.DNSChart + "}\n",
		},
	}
	for _, name := range members {
		h.files[fleettest.Member(name)] = memberOf(name, "")
	}
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	h.store, h.stop = store.New(folder), func() {}
	t.Cleanup(func() { h.stop() })
	h.restart()
	h.look()
	querytest.NoProblems(t, h.state)
	return h
}

// restart is a service that has lost what it did not write down.
func (h *hubOfClusters) restart() {
	h.note("restart")
	h.stop()
	h.state, h.responses = nil, &response.Cache{}
	h.order = order.New(order.Options{
		Store: h.store,
		Desired: func(st *fleetstate.State, q query.Query) (*response.Response, error) {
			return h.responses.Get(context.Background(), st, q)
		},
		Queries: func() map[string][]query.Query {
			out := map[string][]query.Query{}
			for group, components := range simulated {
				for _, component := range components {
					out[component] = []query.Query{h.query(group, component)}
				}
			}
			return out
		},
	})
	ctx, cancel := context.WithCancel(h.Context())
	var running sync.WaitGroup
	running.Go(func() { h.order.Run(ctx) })
	h.stop = func() { cancel(); running.Wait() }
	if h.served != nil {
		h.serve()
	}
}

func (h *hubOfClusters) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *hubOfClusters) failed(format string, args ...any) {
	h.Helper()
	h.Fatalf(format+"\n%s", append(args, strings.Join(h.log, "\n"))...)
}

func (h *hubOfClusters) query(group, component string) query.Query {
	q := querytest.Query(h, fmt.Sprintf(`{"view":"components","group":%q,"component":%q}`, group, component))
	q.ApplicationSet = component
	return q
}

// commit changes files.
func (h *hubOfClusters) commit(more fleettest.Tree) {
	h.files, h.commits = h.files.With(more), h.commits+1
	h.note("commit %d of %v", h.commits, slices.Sorted(maps.Keys(more)))
}

// isUp reports whether a cluster's API server runs.
func (h *hubOfClusters) isUp(cluster string) bool { return cluster == "hub" || h.cloud["eks-"+cluster] }

// look has the service take in the repository and the facts of now.
func (h *hubOfClusters) look() {
	h.served, h.revision = h.files, fmt.Sprintf("rev-%d", h.commits)
	h.serve()
	h.note("look")
}

// serve has the service take in the facts of now.
func (h *hubOfClusters) serve() {
	// The Secret goes before the Application that has made it, and its cluster stays known.
	for name := range h.apps {
		if cluster, is := strings.CutPrefix(name, "fleet-secret-"); is && h.isUp(cluster) {
			h.known[cluster] = true
		}
	}
	clusters := []facts.Cluster{{Name: "hub"}}
	for cluster := range h.known {
		c := facts.Cluster{Name: cluster}
		if name := "fleet-secret-" + cluster; h.apps[name].Name != "" && !h.deleting[name] {
			c.Secret = "uid"
		}
		clusters = append(clusters, c)
	}
	known := facts.NewSet(true, clusters...).WithApplications(slices.Collect(maps.Values(h.apps))...).WithHealth()
	if h.snapshot == nil || h.snapshot.Revision != h.revision {
		h.snapshot = fleettest.Snapshot(h.revision, h.served)
	}
	h.state = querytest.Next(h, h.state, h.snapshot, known)
	h.order.Serving(h.state)
}

// ask is one ApplicationSet's reconciliation, for components or, without one, for members.
func (h *hubOfClusters) ask(group, component string) {
	if h.state == nil {
		return
	}
	q := querytest.Query(h, `{"view":"members"}`)
	if q.ApplicationSet = "members"; component != "" {
		q = h.query(group, component)
	}
	desired, err := h.responses.Get(context.Background(), h.state, q)
	if err == nil {
		desired, err = h.order.Compose(h.state, q, desired)
	}
	if err != nil {
		h.note("ask %s: %v", q.ApplicationSet, err)
		return // Argo CD leaves everything as it is
	}
	h.order.Given(h.state, q, desired)
	is := map[string]bool{}
	for _, s := range querytest.Sets(h, desired.Bytes()) {
		name := s.Text("applicationName")
		is[name] = true
		a, there := h.apps[name]
		if !there || a.Digest != s.Text("digest") {
			a = facts.Application{Name: name, Cluster: s.Text("name"), Group: s.Text("group"), Component: s.Text("component"), Release: s.Text("release"), Controller: q.ApplicationSet, Digest: s.Text("digest")}
			h.asked[name] = minorOf(s.Text("helmValues"), component)
			h.note("apply %s at 1.%d", name, h.asked[name])
		}
		if s.Text("deletion") == "cascade" && !a.Cascade {
			h.note("finalizer %s", name)
			a.Cascade = true
		}
		h.apps[name] = a
	}
	for name, a := range h.apps {
		switch {
		case a.Controller != q.ApplicationSet || is[name] || h.deleting[name]:
		case a.Cascade:
			h.note("delete %s", name)
			h.deleting[name] = true
		default:
			h.note("delete %s, orphan", name)
			delete(h.apps, name)
		}
	}
}

// minorOf is the minor version among a component's values: nodes have their own below nodes.
func minorOf(values, component string) (minor int) {
	indent := "version: \"1."
	if component == "eks-nodes" {
		indent = "  version: \"1."
	}
	for line := range strings.Lines(values) {
		if rest, is := strings.CutPrefix(line, indent); is {
			_, _ = fmt.Sscanf(rest, "%d", &minor)
		}
	}
	return minor
}

// act is Argo CD's or the provider's next step for one Application: it deploys, or goes on with a
// deletion. It reports whether there was something to do.
func (h *hubOfClusters) act(name string) bool {
	h.Helper()
	a, there := h.apps[name]
	ofProvider := a.Group == "provisioning"
	isRegistration := a.Component == "" || a.Group == "fleet"
	switch {
	case !there || ofProvider && h.down:
		return false
	case h.deleting[name]:
		if !ofProvider && !isRegistration && !h.isUp(a.Cluster) {
			h.failed("%s is stuck: its cluster was removed before", name)
		}
		h.gone(a)
		delete(h.apps, name)
		delete(h.deleting, name)
		h.note("removed %s", name)
		return true
	case a.Healthy || !ofProvider && !h.isUp(a.Cluster):
		return false
	}
	if name == h.stuck {
		return false
	}
	if a.Component == "eks-nodes" {
		switch behind := h.seen["eks-"+a.Cluster] - h.asked[name]; {
		case !h.isUp(a.Cluster):
			h.failed("%s was made before its control plane", name)
		case behind < 0, behind > 3:
			h.failed("%s goes to 1.%d, and its control plane is seen on 1.%d", name, h.asked[name], h.seen["eks-"+a.Cluster])
		}
	}
	a.Healthy, h.seen[name] = true, h.asked[name]
	h.apps[name] = a
	if !isRegistration && a.Cluster != "hub" {
		h.cloud[name] = true
	}
	h.note("healthy %s", name)
	return true
}

// gone removes what an Application ran, and judges the order (C3).
func (h *hubOfClusters) gone(a facts.Application) {
	h.Helper()
	if !strings.Contains(h.files[fleettest.Member(a.Cluster)], "lifecycle: retired") {
		h.failed("%s of a cluster that is not retired was removed", a.Name)
	}
	var left []string
	for name, other := range h.apps {
		if other.Cluster == a.Cluster && name != a.Name && (a.Component == "eks" || a.Component == "eks-nodes" && other.Group != "provisioning") {
			left = append(left, name)
		}
	}
	if len(left) > 0 {
		h.failed("%s was removed before %v", a.Name, left)
	}
	if a.Group == "addons" && strings.Contains(h.files[fleettest.Member(a.Cluster)], "infrastructure: delete") && h.apps["shop-"+a.Cluster].Name != "" {
		h.failed("%s was removed before the workload, whose load balancer it may own", a.Name)
	}
	delete(h.cloud, a.Name)
}

// anything is one random event.
func (h *hubOfClusters) anything() {
	names := slices.Sorted(maps.Keys(h.apps))
	switch n := h.rand.IntN(20); {
	case n == 0:
		h.restart()
	case n == 1:
		h.down = !h.down
		h.note("provider down: %t", h.down)
	case n < 7:
		h.look()
	case n < 14:
		groups := slices.Sorted(maps.Keys(simulated))
		group := groups[h.rand.IntN(len(groups))]
		components := append([]string{""}, simulated[group]...)
		h.ask(group, components[h.rand.IntN(len(components))])
	case len(names) > 0:
		h.act(names[h.rand.IntN(len(names))])
	}
}

// settle lets everybody go on until nothing happens any more.
func (h *hubOfClusters) settle() {
	h.Helper()
	h.down = false
	for range 60 {
		before := len(h.log)
		h.look()
		looked := len(h.log)
		h.askAll()
		h.serve() // deletions have begun
		h.askAll()
		for _, name := range slices.Sorted(maps.Keys(h.apps)) {
			h.act(name)
		}
		if len(h.log) == looked {
			h.log = h.log[:before]
			return
		}
	}
	h.failed("it does not settle")
}

// askAll has every ApplicationSet reconcile.
func (h *hubOfClusters) askAll() {
	h.ask("", "")
	for _, group := range slices.Sorted(maps.Keys(simulated)) {
		for _, component := range simulated[group] {
			h.ask(group, component)
		}
	}
}

// approvals names the clusters that may be deleted.
func approvals(clusters []string) fleettest.Tree {
	return fleettest.Tree{"fleet/approvals/clusters.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: RemovalApproval\nexpires: 2099-01-01\n" +
		"removals: [{hub: hub, clusters: [" + strings.Join(clusters, ", ") + "], components: [provisioning/eks], reason: a test}]\n"}
}

// TestClustersAreRemovedInOrder: random fleets retire random members while the service is killed,
// the provider is away, facts are old and ApplicationSets ask whenever they like. Whatever happens,
// a cluster is the last of its member to be removed and only with its approval, no Application
// hangs on a cluster that is gone, and nothing of another cluster is touched (C1, C3, P2).
func TestClustersAreRemovedInOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases.Times(20)) {
		r := rand.New(rand.NewPCG(seed, 1))
		var members []string
		for i := range 1 + r.IntN(4) {
			members = append(members, fmt.Sprintf("c%d", i))
		}
		h := newHubOfClusters(t, seed, members)
		for range r.IntN(60) {
			h.anything()
		}
		h.settle()
		if len(h.cloud) != 5*len(members) {
			h.failed("fleet %d: the cloud has %v", seed, slices.Sorted(maps.Keys(h.cloud)))
		}
		want := maps.Clone(h.cloud)
		var approved []string
		for _, name := range members {
			retired := "lifecycle: retired\n"
			switch r.IntN(5) {
			case 0: // stays
				continue
			case 1: // dead: nothing is waited for
				delete(h.cloud, "eks-"+name)
				retired += "deletion: orphan\n"
			case 2: // kept
				retired += "deletion: cascade\n"
			case 3: // without approval
				retired += "deletion: cascade\ninfrastructure: delete\n"
			case 4:
				retired += "deletion: cascade\ninfrastructure: delete\n"
				approved = append(approved, name)
				maps.DeleteFunc(want, func(app string, _ bool) bool { return strings.HasSuffix(app, "-"+name) })
			}
			if strings.Contains(retired, "orphan") {
				delete(want, "eks-"+name)
			} else {
				maps.DeleteFunc(want, func(app string, _ bool) bool {
					return strings.HasSuffix(app, "-"+name) && !strings.HasPrefix(app, "eks-")
				})
			}
			h.commit(fleettest.Tree{fleettest.Member(name): memberOf(name, retired)})
			for range r.IntN(10) {
				h.anything()
			}
		}
		if len(approved) > 0 {
			h.commit(approvals(approved))
		}
		for range r.IntN(200) {
			h.anything()
		}
		h.settle()
		if got := slices.Sorted(maps.Keys(h.cloud)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			h.failed("fleet %d: the cloud has %v; expected %v", seed, got, slices.Sorted(maps.Keys(want)))
		}
		if len(h.deleting) > 0 {
			h.failed("fleet %d: %v are stuck", seed, h.deleting)
		}
	}
}

// TestNodesFollowTheirControlPlane: six clusters go from 1.31 to 1.34, one minor version a commit,
// while processes are killed and facts are late. Nodes come to a version after their control plane
// was seen on it. A stuck control plane stops its own nodes, and no others (C2, P1).
func TestNodesFollowTheirControlPlane(t *testing.T) {
	t.Parallel()
	members := []string{"c0", "c1", "c2", "c3", "c4", "c5"}
	for seed := range uint64(cases.Times(2)) {
		h := newHubOfClusters(t, seed, members)
		h.settle()
		for minor := 32; minor <= 34; minor++ {
			if minor == 34 {
				h.stuck = "eks-c3"
			}
			for _, name := range members {
				h.commit(fleettest.Tree{fleettest.Member(name): memberAt(name, minor, "")})
			}
			for range h.rand.IntN(150) {
				h.anything()
			}
			h.settle()
		}
		for _, name := range members {
			want := 34
			if "eks-"+name == h.stuck {
				want = 33
			}
			if is, nodes := h.seen["eks-"+name], h.seen["eks-nodes-"+name]; is != want || nodes != want {
				h.failed("fleet %d: the control plane of %s is on 1.%d and its nodes on 1.%d; expected 1.%d", seed, name, is, nodes, want)
			}
		}
	}
}

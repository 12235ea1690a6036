package guard

import (
	"context"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// deleting is a hub that deletes clusters of class eks, of which one component is left.
func deleting(t *testing.T, expires, component string, members ...int) *fleetstate.State {
	t.Helper()
	return marked(t, expires, component, false, members...)
}

// marked is deleting where Applications may have the finalizer, and without an approval if it
// never expires.
func marked(t *testing.T, expires, component string, cascade bool, members ...int) *fleetstate.State {
	t.Helper()
	files := map[string]string{
		"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  provisioning: {catalog: catalogs/provisioning.yaml}\n",
		"catalogs/provisioning.yaml": "eks: {enabled: true, chart: {repoURL: r, path: p, version: v}}\n" +
			"eks-nodes: {enabled: true, dependsOn: [eks], chart: {repoURL: r, path: p, version: v}}\n",
	}
	var names []string
	var apps []facts.Application
	for _, i := range members {
		name := cluster(i)
		names = append(names, name)
		files["fleet/fleet-members/hub/"+name+".yaml"] = "clusterName: " + name + "\ntenant: t\nenvironment: dev\n" +
			"provision: {class: eks, version: \"1.31\"}\nlifecycle: retired\ndeletion: cascade\ninfrastructure: delete\n"
		apps = append(apps, facts.Application{
			Name: component + "-" + name, Cluster: name, Group: "provisioning", Component: component, Release: "default", Controller: component, Cascade: cascade,
		})
	}
	if expires == "" {
		return hubOf(t, 10, facts.NewSet(false).WithApplications(apps...), nil, files)
	}
	files["fleet/approvals/x.yaml"] = "kind: RemovalApproval\nexpires: " + expires + "\nremovals: [{hub: hub, clusters: [" +
		strings.Join(names, ", ") + "], components: [provisioning/eks], reason: r}]\n"
	return hubOf(t, 10, facts.NewSet(false).WithApplications(apps...), nil, files)
}

func ofClass(component string) query.Query {
	return query.Query{View: query.Components, Hub: "hub", Group: "provisioning", Component: component, Release: "default", ApplicationSet: component}
}

// Rule C3: an approval that has expired deletes no cluster, however many the budget allows.
func TestExpiredApprovalDeletesNoCluster(t *testing.T) {
	r, err := open(t, Options{}).Response(context.Background(), deleting(t, now.AddDate(0, 0, -1).Format("2006-01-02"), "eks", 0), ofClass("eks"))
	if err == nil {
		t.Errorf("expired yesterday, and given: %s", r.Bytes())
	} else if !strings.Contains(err.Error(), "cluster c0000 would be deleted") {
		t.Error(err)
	}
	if _, err := open(t, Options{}).Response(context.Background(), deleting(t, now.Format("2006-01-02"), "eks", 0), ofClass("eks")); err != nil {
		t.Error(err)
	}
}

// Rule C3: an approval that names clusters and their class covers their nodes.
func TestApprovalOfClustersCoversTheirNodes(t *testing.T) {
	if _, err := open(t, Options{}).Response(context.Background(), deleting(t, now.AddDate(0, 0, 9).Format("2006-01-02"), "eks-nodes", 0, 1), ofClass("eks-nodes")); err != nil {
		t.Error(err)
	}
}

// Rule C3: an Application that makes a cluster and has the finalizer is not left out without an
// approval, also where it is withdrawn, or has expired and is removed, meanwhile.
func TestWithdrawnApprovalDeletesNoCluster(t *testing.T) {
	if _, err := open(t, Options{}).Response(context.Background(), marked(t, now.AddDate(0, 0, 9).Format("2006-01-02"), "eks", true, 0), ofClass("eks")); err != nil {
		t.Error(err)
	}
	r, err := open(t, Options{}).Response(context.Background(), marked(t, "", "eks", true, 0), ofClass("eks"))
	if err == nil {
		t.Errorf("it is deleted: %s", r.Bytes())
	} else if !strings.Contains(err.Error(), "cluster c0000 would be deleted") {
		t.Error(err)
	}
}

// TestDeletedMemberFileDeletesNoCluster is rule C3: an Application that makes a cluster and has the
// finalizer is not left out either because the member's file is gone, or says nothing of it any
// more, unless an approval names the cluster and the component.
func TestDeletedMemberFileDeletesNoCluster(t *testing.T) {
	app := func(i int, cascade bool) facts.Application {
		return facts.Application{
			Name: "eks-" + cluster(i), Cluster: cluster(i), Group: "provisioning", Component: "eks", Release: "default", Controller: "eks", Cascade: cascade,
		}
	}
	known := facts.NewSet(false).WithApplications(app(0, true), app(1, false))
	without := func(approval string, isGone map[int]bool) *fleetstate.State {
		files := map[string]string{
			"fleet/layout.yaml":                  "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  provisioning: {catalog: catalogs/provisioning.yaml}\n",
			"catalogs/provisioning.yaml":         "eks: {enabled: true, chart: {repoURL: r, path: p, version: v}}\n",
			"fleet/fleet-members/hub/c0001.yaml": "clusterName: c0001\ntenant: t\nenvironment: dev\nprovision: {class: eks, version: \"1.31\"}\n",
		}
		if approval != "" {
			files["fleet/approvals/x.yaml"] = "kind: RemovalApproval\nexpires: " + now.AddDate(0, 0, 9).Format("2006-01-02") + "\nremovals: [{" + approval + ", reason: r}]\n"
		}
		return hubOf(t, 10, known, isGone, files)
	}
	for _, isGone := range []map[int]bool{{0: true}, nil} {
		for _, approval := range []string{"", "clusters: ['*'], components: ['*']"} {
			r, err := open(t, Options{}).Response(context.Background(), without(approval, isGone), ofClass("eks"))
			if err == nil {
				t.Errorf("%q %v: it is deleted: %s", approval, isGone, r.Bytes())
			} else if !strings.Contains(err.Error(), "cluster c0000 would be deleted") {
				t.Error(err)
			}
		}
		if _, err := open(t, Options{}).Response(context.Background(), without("clusters: [c0000], components: [provisioning/eks]", isGone), ofClass("eks")); err != nil {
			t.Error(err)
		}
	}
}

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// fluxNotices is a component that is a folder of manifests in the fleet's own repository.
const fluxNotices = "notices"

// notices has catalog files switch a folder on, with further keys of its entry, and the folders of
// the environments hold these notices: ConfigMaps of the namespace notices, which they make
// themselves.
func (m *fluxEngine) notices(t *testing.T, catalogs []string, keys string, notices ...string) {
	t.Helper()
	for _, catalog := range catalogs {
		must(t, m.fleet.Write(catalog, fmt.Sprintf("%s: {enabled: true, kind: manifests, chart: {repoURL: %q, path: 'notices/{{ .environment }}', version: %s}%s}\n",
			fluxNotices, m.git.URL("fleet"), fleetrepo.Main, keys)))
	}
	for _, folder := range []string{"notices/prod/", "notices/dev/"} {
		resources := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [namespace.yaml"
		must(t, m.fleet.Write(folder+"namespace.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: notices}}\n"))
		for _, name := range notices {
			resources += ", " + name + ".yaml"
			must(t, m.fleet.Write(folder+name+".yaml", fmt.Sprintf(
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: notices}, data: {cluster: '${cluster}', vpc: '${annotation_aws_vpc_id:=none}'}}\n", name)))
		}
		must(t, m.fleet.Write(folder+"kustomization.yaml", resources+"]\n"))
	}
}

// notice is the UID of a notice on a cluster, and the cluster that it names; empty when it is not
// there.
func (m *fluxEngine) notice(t *testing.T, cluster, name string) (uid types.UID, names string) {
	t.Helper()
	o, err := m.client(t, cluster).Get(t.Context(), kube.ConfigMaps, "notices", name)
	must(t, err)
	if o == nil {
		return "", ""
	}
	return o.GetUID(), fluxText(o, "data", "cluster") + " " + fluxText(o, "data", "vpc")
}

// says waits until a notice is on a cluster, or is not where want is empty, and names what it is to
// name.
func (m *fluxEngine) says(t *testing.T, cluster, name, want string) types.UID {
	t.Helper()
	var uid types.UID
	m.eventually(t, fmt.Sprintf("notice %s on %s: %q", name, cluster, want), func() string {
		var names string
		if uid, names = m.notice(t, cluster, name); names != want {
			return fmt.Sprintf("it is %q; Kustomization: %s", names, fluxReady(m.get(t, flux.Kustomizations, fluxNotices+"-"+cluster)))
		}
		return ""
	})
	return uid
}

// applied are the notices of all clusters, by whose engine it is there.
func (m *fluxEngine) applied(t testing.TB) map[string][]*unstructured.Unstructured {
	t.Helper()
	out := map[string][]*unstructured.Unstructured{}
	for _, c := range append([]*testcluster.Cluster{m.Cluster}, m.others...) {
		owner := c.Name
		if c == m.Cluster {
			owner = m.owner
		}
		all, err := c.Client.List(t.Context(), kube.ConfigMaps, fluxNotices, "kustomize.toolkit.fluxcd.io/name")
		must(t, err)
		out[owner] = slices.Collect(maps.Values(all))
	}
	return out
}

// reissues has the first notice say more, and waits until Flux has applied it to clusters: a source
// is asked for every 10 minutes.
func (m *fluxEngine) reissues(t *testing.T, clusters ...string) {
	t.Helper()
	for _, folder := range []string{"notices/prod/", "notices/dev/"} {
		must(t, m.fleet.Replace(folder+"first.yaml", ", data: {", ", data: {edition: 'of ${cluster}', "))
	}
	m.push(t, "Another edition of the first notice")
	for _, cluster := range clusters {
		must(t, m.flux.Reconcile(t.Context(), flux.GitRepositories, flux.Namespace, fluxNotices+"-"+cluster))
		m.eventually(t, "another edition on "+cluster, func() string {
			o, err := m.client(t, cluster).Get(t.Context(), kube.ConfigMaps, fluxNotices, "first")
			must(t, err)
			if o == nil || fluxText(o, "data", "edition") == "" {
				return fluxReady(m.get(t, flux.Kustomizations, fluxNotices+"-"+cluster)) + ", and it is not there"
			}
			return ""
		})
	}
}

// fluxManifests switches a folder of manifests on: Flux applies it as it is, as the entry does not
// ask for variables, and waits for it. What is taken out of the folder is pruned, and nothing else
// changes. It ends with the folder applied.
func fluxManifests(t *testing.T, m *fluxEngine) {
	catalog := []string{"resources/tenants/analytics/clusters/" + fluxMember + "/application-sets/resources.yaml"}
	m.settle(t)
	mark, before := m.ledger.mark(), m.uids()
	m.notices(t, catalog, "", "first", "second")
	began := m.push(t, "Notices for "+fluxMember)
	first := m.says(t, fluxMember, "first", "${cluster} ${annotation_aws_vpc_id:=none}")
	m.timed("push to manifests on the cluster", began)
	m.says(t, fluxMember, "second", "${cluster} ${annotation_aws_vpc_id:=none}")
	m.allReady(t, m.answered(t))
	m.timed("push to Kustomization ready", began)
	m.settle(t) // the plan covers the Kustomization's own objects from here on

	m.notices(t, catalog, "", "first")
	must(t, m.fleet.Remove("notices/prod/second.yaml"))
	m.push(t, "One notice less")
	// A source is asked for every 10 minutes.
	must(t, m.flux.Reconcile(t.Context(), flux.GitRepositories, flux.Namespace, fluxNotices+"-"+fluxMember))
	m.says(t, fluxMember, "second", "")
	if uid, _ := m.notice(t, fluxMember, "first"); uid != first {
		t.Errorf("the first notice was made anew: %s, then %s", first, uid)
	}
	m.settle(t)
	m.reissues(t, fluxMember)
	m.settle(t)
	m.only(t, mark, func(change) bool { return false })
	m.notRecreated(t, before)
}

// fluxHubManifests switches a folder on for the hub itself and for the spoke, with variables: each
// has its own cluster's facts, the spoke's by a kubeconfig. Switched off for the spoke, it goes
// there and nowhere else (D3).
func fluxHubManifests(t *testing.T, m *fluxEngine) {
	const (
		hubs   = "resources/control-plane/clusters/" + fluxHub + "/application-sets/resources.yaml"
		spokes = "resources/tenants/payments/clusters/" + neighbour + "/application-sets/resources.yaml"
	)
	m.settle(t)
	mark, before := m.ledger.mark(), m.uids()
	m.notices(t, []string{hubs, spokes}, ", substitute: true", "first")
	began := m.push(t, "Notices for all")
	answered := m.answered(t)
	vpc := func(cluster string) string {
		return cmp.Or(answered[fluxNotices+"-"+cluster].Metadata.Annotations["aws_vpc_id"], "none")
	}
	if vpc(neighbour) == "none" {
		t.Fatal("nothing is known of the spoke's VPC")
	}
	m.says(t, neighbour, "first", neighbour+" "+vpc(neighbour))
	m.timed("push to manifests on the spoke", began)
	uid := m.says(t, fluxHub, "first", fluxHub+" "+vpc(fluxHub))
	m.allReady(t, answered)
	m.settle(t)
	m.reissues(t, neighbour, fluxHub)
	m.settle(t)

	must(t, m.fleet.Replace(spokes, "enabled: true", "enabled: false"))
	began = m.push(t, "No notices for "+neighbour)
	m.says(t, neighbour, "first", "")
	m.eventually(t, "nothing of it is left", func() string { return m.leftOf(t, fluxNotices+"-"+neighbour) })
	m.timed("push to manifests removed from the spoke", began)
	if now, _ := m.notice(t, fluxHub, "first"); now != uid {
		t.Errorf("the hub's own notice was %s, and is %q", uid, now)
	}
	m.settle(t)
	m.only(t, mark, func(change) bool { return false })
	m.notRecreated(t, before)
}

// fluxHubChain has a kind defined on the spoke, and then an object of it, by two components of
// which one depends on the other. A variable that the first one does not have is an error that
// names it, nothing is applied, and the second one waits; mended, both go on.
func fluxHubChain(t *testing.T, m *fluxEngine) {
	const (
		catalog           = "resources/tenants/payments/clusters/" + neighbour + "/application-sets/resources.yaml"
		kinds, things     = "kinds-" + neighbour, "things-" + neighbour
		definition, thing = "chain/kinds/definition.yaml", "{apiVersion: example.com/v1, kind: Thing, metadata: {name: one}}\n"
	)
	m.settle(t)
	mark := m.ledger.mark()
	before, err := os.ReadFile(filepath.Join(m.fleet.Path(), catalog))
	must(t, err)
	entry := func(name string, enabled bool, keys string) string {
		return fmt.Sprintf("%s: {enabled: %t, kind: manifests, substitute: true, chart: {repoURL: %q, path: %q, version: %s}%s}\n", name, enabled, m.git.URL("fleet"), "chain/"+name, fleetrepo.Main, keys)
	}
	entries := func(enabled bool) string {
		return string(before) + entry("kinds", enabled, "") + entry("things", enabled, ", dependsOn: [kinds]")
	}
	must(t, m.fleet.Write(catalog, entries(true)))
	must(t, m.fleet.Write(definition, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com, annotations: {of: '${nobody}'}}
spec:
  group: example.com
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  scope: Cluster
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`))
	must(t, m.fleet.Write("chain/things/one.yaml", thing))
	m.push(t, "A kind, and an object of it")
	m.eventually(t, "that the missing variable is named", func() string {
		if said := fluxReady(m.get(t, flux.Kustomizations, kinds)); !strings.Contains(said, "nobody") {
			return said
		}
		return ""
	})
	m.eventually(t, "that the object waits for its kind", func() string {
		if said := fluxReady(m.get(t, flux.Kustomizations, things)); !strings.Contains(said, "DependencyNotReady") {
			return said
		}
		return ""
	})
	isDefined := func() bool {
		o, err := m.client(t, neighbour).Get(t.Context(), kube.CustomResourceDefinitions, "", "things.example.com")
		must(t, err)
		return o != nil
	}
	if isDefined() {
		t.Error("a definition without its variable is on the cluster")
	}

	must(t, m.fleet.Replace(definition, "${nobody}", "${cluster}"))
	m.push(t, "A variable that there is")
	must(t, m.flux.Reconcile(t.Context(), flux.GitRepositories, flux.Namespace, kinds))
	m.eventually(t, "the kind", func() string { return fluxReady(m.get(t, flux.Kustomizations, kinds)) })
	must(t, m.flux.Reconcile(t.Context(), flux.Kustomizations, flux.Namespace, things)) // it looks every 30 seconds
	m.eventually(t, "the object", func() string { return fluxReady(m.get(t, flux.Kustomizations, things)) })
	one := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	if o, err := m.client(t, neighbour).Get(t.Context(), one, "", "one"); err != nil || o == nil {
		t.Errorf("the object is not there: %v", err)
	}
	m.settle(t)

	must(t, m.fleet.Write(catalog, entries(false)))
	m.push(t, "No kind any more")
	for _, name := range []string{things, kinds} {
		m.eventually(t, "nothing of "+name+" is left", func() string { return m.leftOf(t, name) })
	}
	m.eventually(t, "the kind is gone", func() string {
		if isDefined() {
			return "it is there"
		}
		return ""
	})
	m.settle(t)
	m.only(t, mark, func(change) bool { return false })
}

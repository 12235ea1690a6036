package e2e

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// memberFile is a member's path in the fleet.
func memberFile(name string) string { return "fleet/fleet-members/" + hub.Name + "/" + name + ".yaml" }

// registration pushes one member file. Everything else follows: the Application of
// charts/fleet-secret, its ExternalSecret, the cluster Secret with Terraform's labels and
// annotations and Git's over them (L1), and the member's components; and nothing happens to any
// other cluster.
func registration(t *testing.T, e *environment) {
	path, text, err := e.Fleet.MemberFile(hub.Spare)
	must(t, err)
	mark := e.ledger.mark()
	e.write(t, path, text)
	began := e.push(t, "Add "+hub.Spare)

	e.eventually(t, "the Application that registers it", func() string { return missing(e.app("fleet-secret-" + hub.Spare)) })
	e.timed("registration", "push to Application", began)
	e.eventually(t, "its ExternalSecret", func() string { return missing(e.ledger.get(hub.Name, "ExternalSecret", hub.Spare)) })
	e.timed("registration", "push to ExternalSecret", began)
	e.eventually(t, "its cluster Secret", func() string { return missing(e.ledger.get(hub.Name, "Secret", hub.Spare)) })
	e.timed("registration", "push to cluster Secret", began)
	e.eventually(t, "its first component's Application", func() string { return missing(e.app("metrics-server-" + hub.Spare)) })
	e.timed("registration", "push to first component's Application", began)
	e.eventually(t, "its first component on the spoke", func() string {
		return missing(e.ledger.get(hub.Spare, "ConfigMap", "metrics-server-values"))
	})
	e.timed("registration", "push to first component on the spoke", began)
	e.synced(t)
	e.timed("registration", "push to all its components synced", began)
	e.settle(t)

	e.registered(t, hub.Spare)
	e.expected(t)
	e.only(t, mark, func(c change) bool {
		own := c.cluster == hub.Spare || c.name == hub.Spare || strings.HasSuffix(c.name, "-"+hub.Spare)
		// A release that nobody was on yet gets its ApplicationSets.
		release := c.what != "deleted" && (c.kind == "ApplicationSet" || strings.HasPrefix(c.name, "application-sets-"))
		return own || release
	})
}

// missing says so of an object that is not there.
func missing(o *unstructured.Unstructured) string {
	if o == nil {
		return "not there"
	}
	return ""
}

// registered compares a cluster Secret with what Terraform wrote into the store and what the
// service computed: keys cluster_name, metadata, addons, server and config are Terraform's
// contract.
func (e *environment) registered(t *testing.T, name string) {
	t.Helper()
	secret := e.ledger.get(hub.Name, "Secret", name)
	if secret == nil {
		t.Fatalf("cluster Secret %s is not there", name)
	}
	var member *set
	for _, s := range e.answer(t, map[string]any{"view": "members", "hub": hub.Name}) {
		if s.Name == name {
			member = &s
		}
	}
	if member == nil {
		t.Fatalf("the view members has no %s", name)
	}
	terraform := e.Facts(name)
	same(t, "label", secret.GetLabels(), over(terraform.Labels, member.SecretLabels), "external-secrets.io/", "reconcile.external-secrets.io/")
	annotations := over(terraform.Annotations, member.SecretAnnotations)
	annotations["cluster_name"], annotations["argosy.dev/server"] = name, e.Spokes[name].URL
	same(t, "annotation", secret.GetAnnotations(), annotations, "external-secrets.io/", "reconcile.external-secrets.io/")
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	for field, want := range map[string]string{"name": name, "server": e.Spokes[name].URL, "config": e.Spokes[name].ArgoConfig()} {
		have, err := base64.StdEncoding.DecodeString(data[field])
		must(t, err)
		if field == "config" {
			if !sameJSON(have, []byte(want)) {
				t.Errorf("cluster Secret %s: config is not what Terraform wrote", name) // and is not printed: it is a credential
			}
		} else if string(have) != want {
			t.Errorf("cluster Secret %s: %s is %q; expected %q", name, field, have, want)
		}
	}
}

func over(low, high map[string]string) map[string]string {
	out := maps.Clone(low)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, high)
	return out
}

// same compares two maps, but for keys that an operator adds for itself.
func same(t *testing.T, what string, have, want map[string]string, ignored ...string) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(over(have, want))) {
		if slices.ContainsFunc(ignored, func(prefix string) bool { return strings.HasPrefix(k, prefix) }) {
			continue
		}
		h, has := have[k]
		w, wants := want[k]
		if has != wants || h != w {
			t.Errorf("%s %s is %q (%t); expected %q (%t)", what, k, h, has, w, wants)
		}
	}
}

package e2e

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/externalsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/sealedsecrets"
)

var pushSecrets = schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1alpha1", Resource: "pushsecrets"}

// Keys of the secret store that the agent's values and its file name.
const (
	fleetReadKey = "github/payments/fleet-read"
	appKey       = "github/payments/app-creds"
)

// pushing is the environment with a member whose secrets come from the hub.
type pushing struct{ *environment }

// TestPush proves push_argo_secrets: an agent without External Secrets has the credentials and the
// token of its service on its own API server, written by the hub's External Secrets; the hub's Argo
// CD has none of them; what changes in the store arrives, what is deleted on the member comes back,
// and nothing is taken away when the hub stops pushing.
func TestPush(t *testing.T) {
	hubs.beside(t, 120)
	p := &pushing{start(t, hub.Options{Members: []string{}, Spares: []string{agent}})}
	t.Cleanup(func() { t.Logf("\n%s", p.table()) })
	p.put(t, fleetReadKey, `{"username": "reader", "password": "first"}`)
	p.put(t, appKey, `{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "of the demo"}`)
	must(t, p.Bootstrap(t.Context()))
	p.onboard(t)
	token := p.pushed(t, "first")
	p.notTheHubs(t)
	t.Run("rotation", func(t *testing.T) { p.rotation(t, token) })
	t.Run("deleted on the member", func(t *testing.T) { p.deleted(t, token) })
	t.Run("sealed", p.sealed)
	t.Run("no more", func(t *testing.T) { p.noMore(t, token) })
}

func (p *pushing) put(t *testing.T, key, text string) {
	t.Helper()
	must(t, p.Secrets.Put(t.Context(), key, text))
}

// onboard pushes the member's file, with the two flags the other way round.
func (p *pushing) onboard(t *testing.T) {
	must(t, p.Fleet.AddMember(agent))
	p.replace(t, memberFile(agent), `use_external_secrets: "true"`, `use_external_secrets: "false"`)
	p.replace(t, memberFile(agent), `push_argo_secrets: "false"`, `push_argo_secrets: "true"`)
	p.write(t, "fleet/registration/"+agent+"/fleet/fleet-secret/values.yaml",
		"secretStore:\n  create: false\n  kind: ClusterSecretStore\n  name: "+externalsecrets.Store+"\npush:\n  refreshInterval: 5s\n")
	began := p.push(t, "Add "+agent)
	p.eventually(t, "its cluster Secret", func() string { return missing(p.ledger.get(hub.Name, "Secret", agent)) })
	p.timed("push", "push to cluster Secret", began)
	p.within(t, patience, "the pushed Secrets on the member", func() string {
		for _, name := range []string{agent + "-git-fleet", agent + "-git-github", "generator-plugin-token"} {
			if p.secret(t, p.Spoke[agent], name) == nil {
				return name + " is not there; " + p.pushState(t)
			}
		}
		return ""
	})
	p.timed("push", "push to all Secrets on the member", began)
	p.checkPlan(t)
}

// pushState is what External Secrets says of its PushSecrets.
func (p *pushing) pushState(t *testing.T) string {
	t.Helper()
	all, err := p.Kube.List(t.Context(), pushSecrets, hub.Namespace, "")
	if err != nil {
		return err.Error()
	}
	var out []string
	for name, o := range all {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		out = append(out, fmt.Sprintf("%s: %v", name, conditions))
	}
	return strings.Join(out, "; ")
}

// secretOf is a Secret's labels and data.
type secretOf struct{ labels, data map[string]string }

// secret is a Secret in Argo CD's namespace, nil when there is none.
func (p *pushing) secret(t *testing.T, client *kube.Client, name string) *secretOf {
	t.Helper()
	o, err := client.Get(t.Context(), kube.Secrets, hub.Namespace, name)
	must(t, err)
	if o == nil {
		return nil
	}
	encoded, _, err := unstructured.NestedStringMap(o.Object, "data")
	must(t, err)
	out := &secretOf{labels: o.GetLabels(), data: map[string]string{}}
	for k, v := range encoded {
		text, err := base64.StdEncoding.DecodeString(v)
		must(t, err)
		out.data[k] = string(text)
	}
	return out
}

// pushed compares what is on the member with what it would have pulled, and gives the token.
func (p *pushing) pushed(t *testing.T, password string) (token string) {
	t.Helper()
	for name, want := range map[string]secretOf{
		agent + "-git-fleet": {
			map[string]string{"argocd.argoproj.io/secret-type": "repository"},
			map[string]string{"type": "git", "url": p.Git.URL(hub.Repository), "username": "reader", "password": password},
		},
		agent + "-git-github": {
			map[string]string{"argocd.argoproj.io/secret-type": "repo-creds"},
			map[string]string{"type": "git", "url": "https://github.com/example-payments", "githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "of the demo"},
		},
	} {
		got := p.secret(t, p.Spoke[agent], name)
		if got == nil {
			t.Errorf("the member has no Secret %s", name)
			continue
		}
		if diff := cmp.Diff(want.labels, got.labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want.data, got.data); diff != "" {
			t.Errorf("%s: data (-want +got):\n%s", name, diff)
		}
	}
	made := p.secret(t, p.Spoke[agent], "generator-plugin-token")
	if made == nil || len(made.data["token"]) != 48 {
		t.Fatalf("the token of the member's service: %v", made)
	}
	if diff := cmp.Diff(map[string]string{"app.kubernetes.io/part-of": "argocd"}, made.labels); diff != "" {
		t.Errorf("the token's labels (-want +got):\n%s", diff)
	}
	return made.data["token"]
}

// notTheHubs: what is pushed is on the hub, but is no credential of its Argo CD; and the member has
// no operator of its own that could have made it.
func (p *pushing) notTheHubs(t *testing.T) {
	t.Helper()
	used, err := p.Kube.List(t.Context(), kube.Secrets, "", "argocd.argoproj.io/secret-type in (repository, repo-creds)")
	must(t, err)
	for name := range maps.Keys(used) {
		t.Errorf("the hub's Argo CD has the credential %s", name)
	}
	for _, name := range []string{".push-git-fleet", ".push-git-github", ".push-token"} {
		if p.secret(t, p.Kube, agent+name) == nil {
			t.Errorf("the hub has no Secret %s%s to push", agent, name)
		}
	}
	own, err := p.Spoke[agent].Dynamic.Resource(kube.ExternalSecrets).List(t.Context(), metav1.ListOptions{})
	if err == nil && len(own.Items) > 0 {
		t.Errorf("the member has %d ExternalSecrets", len(own.Items))
	}
}

// rotation: another password in the store replaces the one on the member, and nothing else.
func (p *pushing) rotation(t *testing.T, token string) {
	p.put(t, fleetReadKey, `{"username": "reader", "password": "second"}`)
	began := time.Now()
	must(t, p.Secrets.Sync(t.Context(), hub.Namespace, agent+".push-git-fleet"))
	p.eventually(t, "the new password on the member", func() string {
		if have := p.secret(t, p.Spoke[agent], agent+"-git-fleet").data["password"]; have != "second" {
			return "it is " + have
		}
		return ""
	})
	p.timed("push", "rotation to the member's Secret, with push.refreshInterval: 5s", began)
	if now := p.pushed(t, "second"); now != token {
		t.Error("the token is another one")
	}
}

// deleted: what somebody deletes on the member is written again, the token as it was.
func (p *pushing) deleted(t *testing.T, token string) {
	for _, name := range []string{"generator-plugin-token", agent + "-git-github"} {
		must(t, p.Spoke[agent].Delete(t.Context(), kube.Secrets, hub.Namespace, name, metav1.DeletePropagationBackground))
		p.eventually(t, name+" is back", func() string {
			if p.secret(t, p.Spoke[agent], name) == nil {
				return "not there"
			}
			return ""
		})
	}
	if now := p.pushed(t, "second"); now != token {
		t.Error("the token is another one")
	}
}

// sealed: the hub pushes the key of Sealed Secrets to the member before its controller runs. Then
// its Argo CD deploys there what Git has sealed, and waits until the controller has opened it.
func (p *pushing) sealed(t *testing.T) {
	const component, password = "sealed-credential", "sealed in Git"
	values := "fleet/registration/" + agent + "/fleet/fleet-secret/values.yaml"
	plain := p.read(t, values)
	pair, err := sealedsecrets.NewPair()
	must(t, err)
	record, err := pair.Record()
	must(t, err)
	p.put(t, "sealing/fleet", record)
	must(t, p.Spoke[agent].Namespace(t.Context(), sealedsecrets.Namespace)) // that of the component
	p.write(t, values, plain+"sealedSecrets: {enabled: \"true\", secretName: sealing/fleet}\n")
	began := p.push(t, "A key of Sealed Secrets for "+agent)
	p.eventually(t, "the key on the member", func() string {
		o, err := p.Spoke[agent].Get(t.Context(), kube.Secrets, sealedsecrets.Namespace, sealedsecrets.Key)
		must(t, err)
		if o == nil || o.GetLabels()[sealedsecrets.Label] != "active" {
			return fmt.Sprintf("there is %v; %s", o, p.pushState(t))
		}
		return ""
	})
	binaries, err := p.StartSealedSecrets(t.Context(), agent)
	must(t, err)
	sealed, err := pair.Seal(t.Context(), binaries, t.TempDir(),
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"from-git","namespace":"default"},"stringData":{"password":"`+password+`"}}`)
	must(t, err)
	p.write(t, "sealed/from-git.yaml", sealed)
	const catalog = "charts/application-sets/catalogs/monitoring.yaml"
	p.write(t, catalog, p.read(t, catalog)+fmt.Sprintf("\n  %s: {enabled: false, kind: manifests, chart: {repoURL: %q, path: sealed, version: main}, namespace: default}\n", component, p.Git.URL(hub.Repository)))
	p.write(t, "addons/tenants/payments/clusters/"+agent+"/application-sets/monitoring.yaml", component+": {enabled: true}\n")
	p.push(t, "A sealed credential")
	p.within(t, patience, "the Secret that was sealed", func() string {
		if s := state(p.app(component + "-" + agent)); s != good {
			return fmt.Sprint(s, " by ", p.ledger.get(hub.Name, "ApplicationSet", component))
		}
		o, err := p.Spoke[agent].Get(t.Context(), kube.Secrets, "default", "from-git")
		must(t, err)
		if o == nil {
			return "it is not there"
		}
		encoded, _, _ := unstructured.NestedString(o.Object, "data", "password")
		if got, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(got) != password {
			return fmt.Sprintf("it is %q (%v)", got, err)
		}
		return ""
	})
	p.timed("push", "key in the store, to a sealed Secret opened on the member", began)
	p.checkPlan(t)
	p.write(t, values, plain)
	p.push(t, "The key of Sealed Secrets stays where it is")
}

// noMore: the hub stops pushing, and what is on the member stays.
func (p *pushing) noMore(t *testing.T, token string) {
	p.replace(t, memberFile(agent), `push_argo_secrets: "true"`, `push_argo_secrets: "false"`)
	p.push(t, "The hub does not push to "+agent+" any more")
	p.eventually(t, "nothing is pushed any more", func() string {
		left, err := p.Kube.List(t.Context(), pushSecrets, hub.Namespace, "")
		must(t, err)
		if len(left) > 0 {
			return fmt.Sprintf("%d PushSecrets are left", len(left))
		}
		for _, name := range []string{".push-git-fleet", ".push-git-github", ".push-token", "-kubeconfig"} {
			if p.secret(t, p.Kube, agent+name) != nil {
				return "the hub has the Secret " + agent + name
			}
		}
		if s := state(p.app("fleet-secret-" + agent)); s != good {
			return "its registration is " + s
		}
		return ""
	})
	if now := p.pushed(t, "second"); now != token {
		t.Error("the token is another one")
	}
	p.checkPlan(t)
}

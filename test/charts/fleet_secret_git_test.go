package charts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/util/db"
	"github.com/argoproj/argo-cd/v2/util/settings"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	genv1alpha1 "github.com/external-secrets/external-secrets/apis/generators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Lesson 13: registries' objects are named by endpoint, so their order means nothing, and
// creationPolicy Owner creates the Secret that Merge would never create.
func TestECRObjectsAreNamedByEndpoint(t *testing.T) {
	registries := func(endpoints ...string) string {
		var list []string
		for _, endpoint := range endpoints {
			list = append(list, "{endpoint: "+endpoint+"}")
		}
		return "ecr: {registries: [" + strings.Join(list, ", ") + "]}"
	}
	a, b := "111111111111.dkr.ecr.eu-west-1.amazonaws.com", "222222222222.dkr.ecr-fips.us-east-2.amazonaws.com"
	objects := map[string][]runtime.Object{
		"a": rendering{}.objects(t, fleetSecret, member, registries(a)), "ab": rendering{}.objects(t, fleetSecret, member, registries(a, b)),
		"ba": rendering{}.objects(t, fleetSecret, member, registries(b, a)),
	}
	const nameA, nameB = "retail-dev-eu-1-ecr-111111111111-dkr-ecr-eu-west-1-amazonaws-com", "retail-dev-eu-1-ecr-222222222222-dkr-ecr-fips-us-east-2-amazonaws-com"
	for which, rendered := range objects {
		assert.Equal(t, one[*esv1.ExternalSecret](t, objects["a"], nameA), one[*esv1.ExternalSecret](t, rendered, nameA), "%s: order matters", which)
	}
	assert.Equal(t, one[*genv1alpha1.ECRAuthorizationToken](t, objects["ab"], nameB), one[*genv1alpha1.ECRAuthorizationToken](t, objects["ba"], nameB), "order matters")
	assert.Equal(t, "us-east-2", one[*genv1alpha1.ECRAuthorizationToken](t, objects["ab"], nameB).Spec.Region, "region")
	es := one[*esv1.ExternalSecret](t, objects["a"], nameA)
	if got := es.Spec.Target.CreationPolicy; got != esv1.CreatePolicyOwner {
		t.Errorf("creationPolicy: got %q", got)
	}
	secret, err := reconcile(t, es, nil, map[string]string{"username": "AWS", "password": "token", "proxy_endpoint": "https://" + a, "expires_at": "1"})
	require.NoError(t, err)
	want := map[string]string{"type": "helm", "enableOCI": "true", "name": nameA, "url": a, "username": "AWS", "password": "token"}
	assert.Equal(t, want, texts(secret.Data), "data")
	assert.Equal(t, "repo-creds", secret.Labels["argocd.argoproj.io/secret-type"], "labels: %v", secret.Labels)
	rendering{}.fails(t, "give objects of one name", fleetSecret, member, registries("a.example.com/x", "a.example.com-x.com", "a.example.com/x"))
	rendering{}.fails(t, "region is required: the endpoint does not name it", fleetSecret, member, registries("registry.example.com"))
}

// Git credentials: what the store holds becomes what Argo CD reads.
// Argo CD gives a template of credentials to every URL that begins with the template's: a template
// for a host ends with a slash.
func TestGitCredentials(t *testing.T) {
	remote := map[string]string{
		"git/app":   `{"url":"https://github.com/acme","githubAppID":"1","githubAppInstallationID":"2","githubAppPrivateKey":"LS0t"}`,
		"git/named": `{"app-id":"1","installation":"2","key":"k"}`,
		"git/token": `{"username":"bot","password":"p"}`,
		"git/ssh":   `{"sshPrivateKey":"key"}`,
		"git/plain": "plain text",
	}
	for name, c := range map[string]struct {
		values, object string
		want           map[string]string
		secretType     string
	}{
		"flag": {
			`{githubSecret: "true", githubSecretName: git/app, github: {base64: [githubAppPrivateKey]}}`, "github",
			map[string]string{"type": "git", "url": "https://github.com/acme", "githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "---"},
			"repo-creds",
		},
		"properties": {
			`{gitCredentials: {x: {type: githubApp, kind: repository, secretName: git/named, url: "https://github.com/acme/shop",
			 properties: {githubAppID: app-id, githubAppInstallationID: installation, githubAppPrivateKey: key}, data: {project: retail}}}}`, "x",
			map[string]string{"type": "git", "url": "https://github.com/acme/shop", "githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "k", "project": "retail"},
			"repository",
		},
		"of GitHub Enterprise, for Argo CD and for Flux": {
			`{gitCredentials: {x: {type: githubApp, secretName: git/app, url: "https://github.com/acme", data: {githubAppEnterpriseBaseUrl: "https://ghe.example/api/v3"}}}}`, "x",
			map[string]string{
				"type": "git", "url": "https://github.com/acme", "githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "LS0t",
				"githubAppEnterpriseBaseUrl": "https://ghe.example/api/v3", "githubAppBaseURL": "https://ghe.example/api/v3",
			},
			"repo-creds",
		},
		"http": {
			`{gitCredentials: {x: {type: http, kind: repository, secretName: git/token, url: "https://git.example.com/a.git"}}}`, "x",
			map[string]string{"type": "git", "url": "https://git.example.com/a.git", "username": "bot", "password": "p"},
			"repository",
		},
		"token alone": {
			`{gitCredentials: {x: {type: http, secretName: git/plain, plain: true, url: "https://git.example.com"}}}`, "x",
			map[string]string{"type": "git", "url": "https://git.example.com/", "username": "git", "password": "plain text"},
			"repo-creds",
		},
		"fixed user": {
			`{gitCredentials: {x: {type: http, secretName: git/plain, plain: true, url: "https://git.example.com", data: {username: oauth2}}}}`, "x",
			map[string]string{"type": "git", "url": "https://git.example.com/", "username": "oauth2", "password": "plain text"},
			"repo-creds",
		},
		"of a repository at the host's root": {
			`{gitCredentials: {x: {type: http, kind: repository, secretName: git/token, url: "https://git.example.com"}}}`, "x",
			map[string]string{"type": "git", "url": "https://git.example.com", "username": "bot", "password": "p"},
			"repository",
		},
		"ssh": {
			`{gitCredentials: {x: {type: ssh, secretName: git/ssh, url: "git@example.com:acme"}}}`, "x",
			map[string]string{"type": "git", "url": "git@example.com:acme", "sshPrivateKey": "key"},
			"repo-creds",
		},
		"key alone": {
			`{gitCredentials: {x: {type: ssh, secretName: git/plain, plain: "true", url: "ssh://git@example.com/acme"}}}`, "x",
			map[string]string{"type": "git", "url": "ssh://git@example.com/acme", "sshPrivateKey": "plain text"},
			"repo-creds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := rendering{}.objects(t, fleetSecret, member, c.values)
			es := one[*esv1.ExternalSecret](t, objects, "retail-dev-eu-1-git-"+c.object)
			secret, err := reconcile(t, es, remote, nil)
			require.NoError(t, err)
			assert.Equal(t, c.want, texts(secret.Data), "data")
			assert.Equal(t, map[string]string{"argocd.argoproj.io/secret-type": c.secretType}, secret.Labels, "labels")
		})
	}
	es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, member, `{githubSecret: true, githubSecretName: git/token}`), "retail-dev-eu-1-git-github")
	if _, err := reconcile(t, es, remote, nil); err == nil || !strings.Contains(err.Error(), "the secret has no key") {
		t.Errorf("a secret without the fields: got error %v", err)
	}
}

// TestTemplateWithAURLFromTheStoreEndsAtItsHost: Argo CD uses a template for all that begins with
// its url, HOST.evil.example too.
func TestTemplateWithAURLFromTheStoreEndsAtItsHost(t *testing.T) {
	objects := rendering{}.objects(t, fleetSecret, member, "gitCredentials: {x: {type: http, secretName: git/token}}\n")
	for stored, want := range map[string]string{
		"https://git.example.com": "https://git.example.com/", "https://git.example.com/": "https://git.example.com/", "https://git.example.com/shop": "https://git.example.com/shop",
	} {
		remote := map[string]string{"git/token": `{"url":"` + stored + `","username":"bot","password":"p"}`}
		secret, err := reconcile(t, one[*esv1.ExternalSecret](t, objects, "retail-dev-eu-1-git-x"), remote, nil)
		require.NoError(t, err)
		assert.Equal(t, want, string(secret.Data["url"]), "%s: a template for all that begins with", stored)
	}
}

// TestProjectOfGitCredentials: Argo CD's own reader gives the credentials of a repository with a
// project to that project's Applications only, and admits the repository there. It ignores the
// project of a template, which the chart refuses.
func TestProjectOfGitCredentials(t *testing.T) {
	const url = "https://git.example.com/shop.git"
	remote := map[string]string{"git/token": `{"username":"bot","password":"p"}`}
	for name, c := range map[string]struct {
		entry     string
		with      []string // the projects whose Applications get the credentials
		admitting []string // the projects that Argo CD lets read the repository by itself
	}{
		"shared":     {"kind: repository", []string{"retail", "team-shop", "platform"}, nil},
		"a tenant's": {"kind: repository, data: {project: retail}", []string{"retail"}, []string{"retail"}},
		"template":   {"kind: repo-creds", []string{"retail", "team-shop", "platform"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			values := "gitCredentials: {x: {type: http, secretName: git/token, url: \"" + url + "\", " + c.entry + "}}"
			secret, err := reconcile(t, one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, member, values), "retail-dev-eu-1-git-x"), remote, nil)
			require.NoError(t, err)
			secret.Namespace = "argocd"
			client := fake.NewClientset(secret, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: "argocd-cm", Namespace: "argocd", Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"},
			}})
			argocd := db.NewDB("argocd", settings.NewSettingsManager(t.Context(), client, "argocd"), client)
			for _, project := range []string{"retail", "team-shop", "platform"} {
				repository, err := argocd.GetRepository(t.Context(), url, project)
				require.NoError(t, err)
				assert.Equal(t, slices.Contains(c.with, project), repository.Password == "p", "project %s gets the credentials", project)
				admitted, err := argocd.GetProjectRepositories(t.Context(), project)
				require.NoError(t, err)
				assert.Equal(t, slices.Contains(c.admitting, project), len(admitted) == 1, "project %s is admitted", project)
			}
		})
	}
	rendering{}.fails(t, `Git credentials "x": data.project has no effect with kind repo-creds`, fleetSecret, member, `gitCredentials: {x: {type: http, secretName: git/token, data: {project: retail}}}`)
	rendering{}.fails(t, `Git credentials "github": data.project has no effect with kind repo-creds`, fleetSecret, member, `{githubSecret: true, githubSecretName: git/app, github: {data: {project: retail}}}`)
}

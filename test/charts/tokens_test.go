package charts_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const tokensValues = `tokens:
- {name: forge, existingSecret: argosy-webhook, allow: {routes: [webhook]}}
- name: payments-eu-1
  existingSecret: argosy-payments
  keys: [token, next]
  allow: {routes: [registry, getparams], views: [components, agents], hubs: [hub-eu], owners: [payments-eu-1], tenants: [payments]}
`

// What the chart renders, mounted as Kubernetes mounts it, is what the service reads: each token is
// what its Secret's keys hold, a Secret that is not there yet keeps nobody else out, and no token
// stands in the ConfigMap.
func TestTokensAreMounted(t *testing.T) {
	objects := rendering{}.objects(t, generatorPlugin, onHub, tokensValues)
	config := one[*corev1.ConfigMap](t, objects, "test-generator-plugin-tokens")
	pod := one[*appsv1.Deployment](t, objects, "").Spec.Template.Spec
	mounts := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts[m.Name] = m.MountPath
		assert.Equal(t, "", m.SubPath, "%s: what is mounted by a subPath never changes", m.Name)
	}
	root := t.TempDir()
	write := func(path, text string) string {
		t.Helper()
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	secrets := map[string]map[string]string{"argosy-payments": {"token": "the-first-token-of-payments", "next": "the-next-token-of-payments", "other": "not-a-token-of-anybody"}}
	for _, v := range pod.Volumes {
		switch {
		case v.Name == "tokens-config":
			if v.ConfigMap.Name != config.Name {
				t.Errorf("mounts ConfigMap %s", v.ConfigMap.Name)
			}
			for name, text := range config.Data {
				write(mounts[v.Name]+"/"+name, text)
			}
		case v.Name == "tokens":
			for _, s := range v.Projected.Sources {
				if s.Secret.Optional == nil || !*s.Secret.Optional {
					t.Errorf("Secret %s has to be there", s.Secret.Name)
				}
				for _, item := range s.Secret.Items {
					if value, there := secrets[s.Secret.Name][item.Key]; there {
						write(mounts[v.Name]+"/"+item.Path, value)
					}
				}
			}
		}
	}
	flags := map[string]string{}
	for _, arg := range pod.Containers[0].Args {
		for _, name := range []string{"tokens-file", "tokens-dir"} {
			if prefix := "--" + name + "="; len(arg) > len(prefix) && arg[:len(prefix)] == prefix {
				flags[name] = filepath.Join(root, arg[len(prefix):])
			}
		}
	}
	tokens, err := access.Open(access.Options{
		TokenFile: write("token", bearer), TokensFile: flags["tokens-file"], TokensDir: flags["tokens-dir"], Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatalf("%v in\n%s", err, config.Data["tokens.yaml"])
	}
	got := ""
	for _, value := range []string{bearer, "the-first-token-of-payments", "the-next-token-of-payments", "not-a-token-of-anybody"} {
		g := tokens.Find(value)
		got += fmt.Sprintf("%s %v; ", g.Label(), g.Route(access.Registry) == nil)
	}
	if want := "token-file true; payments-eu-1 true; payments-eu-1 true;  false; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A token of the chart does not open the port: the NetworkPolicy is about callers, as
// without tokens.
func TestTokensDoNotOpenThePort(t *testing.T) {
	with := one[*networkingv1.NetworkPolicy](t, rendering{}.objects(t, generatorPlugin, onHub, tokensValues), "")
	without := one[*networkingv1.NetworkPolicy](t, rendering{}.objects(t, generatorPlugin, onHub), "")
	assert.Equal(t, without.Spec, with.Spec, "-without +with tokens")
}

// The chart takes the scopes that the service takes, and no others: a service with another one ends
// at its start.
func TestScopesAreThoseOfTheService(t *testing.T) {
	restrictions := []string{"", "hubs: [h]", "owners: [o]", "tenants: [t]", "base: false", "base: 'true'", "groups: [g]"}
	for _, view := range query.Views {
		restrictions = append(restrictions, "views: ["+view+"]", "groups: [g], views: ["+view+"]")
	}
	var routes []string
	for i, one := range access.Routes {
		routes = append(routes, one)
		for _, other := range access.Routes[i+1:] {
			routes = append(routes, one+", "+other)
		}
	}
	tokenFile := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte(bearer), 0o600))
	file, tokens := filepath.Join(t.TempDir(), "tokens.yaml"), t.TempDir()
	taken := map[bool]int{}
	for _, route := range routes {
		for _, restriction := range restrictions {
			allow := strings.TrimSuffix("{routes: ["+route+"], "+restriction, ", ") + "}"
			text := "{apiVersion: argosy.dev/v1alpha1, kind: Tokens, tokens: [{name: a, files: [a/token], allow: " + strings.ReplaceAll(allow, "'", "") + "}]}"
			docs, _, err := rendering{Terse: true}.render(generatorPlugin, valuesFiles(t, []string{onHub, "tokens: [{name: a, existingSecret: s, allow: " + allow + "}]\n"})...)
			if err == nil {
				text = one[*corev1.ConfigMap](t, decodeObjects(t, docs), "test-generator-plugin-tokens").Data["tokens.yaml"]
			}
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			_, refused := access.Open(access.Options{TokenFile: tokenFile, TokensFile: file, TokensDir: tokens, Log: slog.New(slog.DiscardHandler)})
			if (err == nil) != (refused == nil) {
				t.Errorf("%s: the chart says %v, the service %v", allow, err, refused)
			}
			taken[refused == nil]++
		}
	}
	if taken[true] < 100 || taken[false] < 100 {
		t.Errorf("%d scopes are taken, %d refused", taken[true], taken[false])
	}
}

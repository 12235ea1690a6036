package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// Texts that are put together, so that no scanner takes this file for what it tests.
var (
	pem    = "-----BEGIN RSA " + "PRIVATE KEY-----"
	aws    = "AKIA" + "IOSFODNN7EXAMPLE"
	github = "ghp_" + strings.Repeat("a1B2", 9)
	gitlab = "glpat-" + strings.Repeat("x1_-", 5)
	slack  = "xoxb-" + "123456789012-abc"
	jwt    = "eyJhbGciOiJI" + ".eyJzdWIiOiIx" + ".SflKxwRJSM-_"
)

// TestPlaintextSecrets: what is found by key and by format, with its place, and never with its
// value.
func TestPlaintextSecrets(t *testing.T) {
	const dns = "addons/defaults/addons/dns/values.yaml"
	for _, c := range []struct{ name, text, want string }{ // want: line:column subject, or nothing
		{"password", "a:\n  adminPassword: hunter2\n", `2:18 key "adminPassword"`},
		{"with hyphens", "client-secret: hunter2\n", `1:16 key "client-secret"`},
		{"upper case", "env:\n  DB_PASSWORD: hunter2\n", `2:16 key "DB_PASSWORD"`},
		{"in a list", "users: [{token: hunter2}]\n", `1:17 key "token"`},
		{"private key", "tls:\n  x: |\n    " + pem + "\n    abc\n", `2:6 key "x"`},
		{"AWS", "args: [--key, " + aws + "]\n", `1:15 key "args"`},
		{"GitHub", "x: " + github + "\n", `1:4 key "x"`},
		{"GitLab", "x: " + gitlab + "\n", `1:4 key "x"`},
		{"Slack", "x: " + slack + "\n", `1:4 key "x"`},
		{"token of the web", "x: Bearer " + jwt + "\n", `1:4 key "x"`},
		{"URL", "x: https://user:hunter2@example.com/x\n", `1:4 key "x"`},
		{"an alias once", "a: &a {password: hunter2}\nb: *a\n", `1:18 key "password"`},

		{"a name", "adminPasswordSecretName: x\nexistingSecret: y\ntokenRef: z\nprivateKeyFile: p\npasswordKey: k\n", ""},
		{"a map", "password: {valueFrom: {secretKeyRef: {name: a, key: password}}}\n", ""},
		{"beside a name", "auth: {existingSecret: x, password: hunter2}\n", ""},
		{"of a store", "data: [{secretKey: password, remoteRef: {key: x}}]\n", ""},
		{"nothing", "password: \"\"\ntoken: null\n", ""},
		{"a template", "password: '{{ .Values.x }}'\ntoken: ${TOKEN}\npasswd: $(PASS)\napiKey: /etc/key\n", ""},
		{"a switch", "automountServiceAccountToken: true\ntoken: \"false\"\n", ""},
		{"a digest", "image: x@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n", ""},
		{"a URL with a port", "x: https://example.com:8443/a@b\n", ""},
		{"allowed behind", "password: hunter2 # argosy:allow plaintext-secret\n", ""},
		{"allowed above", "# argosy:allow plaintext-secret, it is the chart's example\npassword: hunter2\n", ""},
		{"allowed elsewhere", "# argosy:allow plaintext-secret\na: 1\npassword: hunter2\n", `3:11 key "password"`},
		{"allowed for another", "password: hunter2 # argosy:allow plaintext-secrets\n", `1:11 key "password"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for _, p := range lint.Run(querytest.Build(t, fleettest.Small().With(fleettest.Tree{dns: c.text})), expand.Tools{}) {
				if p.Reason == problem.PlaintextSecret {
					got += fmt.Sprintf("%d:%d %s", p.Pos.Line, p.Pos.Column, p.Subject)
					if p.Severity != problem.Warning || p.Pos.File != dns {
						t.Errorf("%s %s", p.Severity, p.Error())
					}
				}
				for _, secret := range []string{"hunter2", aws, github, gitlab, slack, jwt} {
					if strings.Contains(p.Error(), secret) {
						t.Errorf("the value is shown: %s", p.Error())
					}
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// TestPlaintextSecretsInOtherFiles: member files, catalogs and templates are searched as well.
func TestPlaintextSecretsInOtherFiles(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		fleettest.Member("one"):                                       fleettest.Spoke("one", "annotations: {x: "+github+"}\n"),
		"addons/defaults/addons/dns/values.yaml.gotmpl":               "a: 1\nb: {{ .cluster }}-" + aws + "\n",
		"addons/tenants/retail/defaults/application-sets/addons.yaml": "dns: {values: {token: hunter2}}\n",
	})
	found := map[string]bool{}
	for _, p := range lint.Run(querytest.Build(t, files), expand.Tools{}) {
		if p.Reason == problem.PlaintextSecret {
			found[p.Pos.String()] = true
		}
	}
	if len(found) != 3 || !found["addons/defaults/addons/dns/values.yaml.gotmpl:2"] || !found[fleettest.Member("one")+":4:18"] {
		t.Errorf("%v", found)
	}
}

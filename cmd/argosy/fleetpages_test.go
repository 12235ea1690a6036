package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fleetPages are the pages whose commands run in a clone of this repository, with what a page asks
// its reader to write before one of its commands, by what the command begins with. Of commands that
// are there several times it is before the first that has not had it yet.
var fleetPages = map[string][][2]string{
	"tutorial": {
		{"argosy lint\nno problems: 17", writes("fleet/fleet-members/hub-eu/retail-staging-eu-2.yaml", "clusterName: retail-staging-eu-2\ntenant: retail\nenvironment: staging\n# The secret that Terraform wrote when it built the cluster.\nsecretManagerSecretName: hub-eu/retail-staging-eu-2\nlabels:\n  region: eu-west-1\n")},
		{"argosy lint\nfleet/fleet-members/hub-eu/retail-staging-eu-2.yaml:3:1", "sed -i s/environment/enviroment/ fleet/fleet-members/hub-eu/retail-staging-eu-2.yaml"},
		{"git add fleet", "sed -i s/enviroment/environment/ fleet/fleet-members/hub-eu/retail-staging-eu-2.yaml"},
		{"argosy explain retail-staging-eu-2 addons/ingress-nginx controller.config.proxy-body-size\naddons/ingress-nginx on retail-staging-eu-2\n  controller.config.proxy-body-size = \"128m\"", writes("addons/tenants/retail/clusters/retail-staging-eu-2/addons/ingress-nginx/values.yaml", "controller:\n  replicaCount: 4\n  config:\n    proxy-body-size: 128m\n")},
		{"argosy plan --base HEAD\nfrom HEAD (f2d8769)", "printf '  addonsRelease: canary\\n' >>fleet/fleet-members/hub-eu/retail-staging-eu-2.yaml"},
		{"argosy plan --base HEAD\nfrom HEAD (b490b20)", "sed -i '0,/^    - type: default$/s//&\\n      chartRepoRevision: release-next/' versions/applicationSets.yaml"},
	},
	"how-to/add-a-level": {
		{"argosy lint\nno problems", `sed -i 's/^  - name: tenant$/  - name: region\n    dir: '"'"'{{ .root }}\/regions\/{{ index .labels "region" | default "none" }}'"'"'\n&/' fleet/layout.yaml`},
		{"argosy plan", writes("addons/regions/us-east-1/addons/external-dns/values.yaml", "interval: 2m\n")},
		{"argosy lint\naddons/regions", "mv addons/regions/us-east-1 addons/regions/us-east-9 && " + writes("addons/regions/us-east-1/addons/external-dns/values.yaml", "interval: 2m\n")},
	},
	"how-to/add-a-tenant": {
		{"argosy new member", "argosy new tenant --hub hub-eu --name logistics && git add . && git commit --quiet --message project"},
		{"argosy lint\nno problems", writes("addons/tenants/logistics/defaults/fleet/fleet-secret/values.yaml", "externalSecret:\n  labels:\n    enable_ingress_nginx: \"true\"\n  annotations:\n    owner: logistics@example.com\n")},
	},
	"how-to/approve-a-removal": {},
	"how-to/argocd-agents": {
		{"argosy plan", "git add . && git commit --quiet --message member && sed -i 's/^enable_remote_addons: .*/enable_remote_addons: \"false\"/' fleet/fleet-members/hub-eu/payments-prod-eu-1.yaml && git commit --quiet --all --message addons"},
	},
	"how-to/deploy-an-app": {
		{"argosy move app checkout-worker --to payments-staging", "git add . && git commit --quiet --message app"},
	},
	"how-to/join-lists": {
		{"argosy plan", "printf '\\nmerge:\\n  - path: domainFilters\\n    component: external-dns\\n    strategy: append\\n' >>fleet/layout.yaml"},
	},
}

// writes is the command that writes a file.
func writes(file, text string) string {
	return fmt.Sprintf("mkdir -p %s && cat >%s <<'END'\n%sEND", filepath.Dir(file), file, text)
}

var (
	// elsewhere are commands that need a cluster, a service or a build.
	elsewhere = regexp.MustCompile(`^(kubectl|curl|make|export) `)
	// changing is what another day or another clone prints otherwise.
	changing = regexp.MustCompile(`\([0-9a-f]{7}\)|expires: [0-9-]{10}`)
	// plain are commands of argosy that need no shell.
	plain = regexp.MustCompile(`^argosy [^|<>&;$'"]*$`)
)

// readersGit are variables by which Git asks no user's configuration.
var readersGit = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	"GIT_AUTHOR_NAME=user", "GIT_AUTHOR_EMAIL=user@example.com", "GIT_COMMITTER_NAME=user", "GIT_COMMITTER_EMAIL=user@example.com",
}

// Who follows a page word by word in a clone of this repository sees what the page shows.
func TestPagesOfThisFleet(t *testing.T) {
	t.Parallel()
	for page, edits := range fleetPages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			dir := cloneFleet(t)
			shell := func(script string) string {
				var out bytes.Buffer
				if plain.MatchString(script) {
					_ = runInProcess(dir, readersGit, strings.Fields(strings.ReplaceAll(script, "\\\n", ""))[1:], &out, &out)
					return out.String()
				}
				command := exec.CommandContext(t.Context(), "bash", "-c", script)
				command.Dir = dir
				command.Env = append(os.Environ(), readersGit...)
				command.Stdout, command.Stderr = &out, &out
				_ = command.Run() // what it says is compared below
				return out.String()
			}
			left := slices.Clone(edits)
			for _, c := range shownCommands(t, filepath.Join(repository, "docs", page+".md")) {
				if elsewhere.MatchString(c.command) {
					continue
				}
				if len(left) > 0 && strings.HasPrefix(c.command+c.output, left[0][0]) {
					shell(left[0][1])
					left = left[1:]
				}
				output := strings.TrimSpace(changing.ReplaceAllString(shell(strings.ReplaceAll(c.command, "bin/argosy", "argosy")), "*"))
				shown := strings.TrimSpace(changing.ReplaceAllString(c.output, "*"))
				if before, cut := strings.CutSuffix(shown, "\n..."); cut { // or nothing more
					shown = before + "..."
				}
				if shown != "" && !shows(shown, output) || shown == "" && strings.Contains(output, "argosy: ") {
					t.Errorf("$ %s\nprints\n%s\nthe page shows\n%s", c.command, output, shown)
				}
			}
			for _, edit := range left {
				t.Errorf("the page has no command that begins with\n%s", edit[0])
			}
		})
	}
}

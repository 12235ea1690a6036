package docs

import (
	"regexp"
	"strings"
	"testing"
)

// helmInstall is the command of a document that installs the hub, with the name of the release.
var helmInstall = regexp.MustCompile(`\$ helm install (\S+) oci://\S+/charts/hub --namespace (\S+)`)

// An uninstalled hub can be installed again: Helm refuses a name of which it has a record, and an
// object that names no release or another one.
func TestUninstalledHubCanBeInstalledAgain(t *testing.T) {
	t.Parallel()
	release := helmInstall.FindStringSubmatch(read(t, "docs/how-to/install-a-hub.md"))
	if release == nil {
		t.Fatal("docs/how-to/install-a-hub.md installs no hub")
	}
	taken, again, _ := strings.Cut(read(t, "docs/how-to/uninstall-a-hub.md"), "## Back again")
	if record := "$ kubectl --namespace " + release[2] + " delete secrets --selector owner=helm,name=" + release[1] + "\n"; !strings.Contains(taken, record) {
		t.Errorf("docs/how-to/uninstall-a-hub.md leaves Helm's record: expected %q", record)
	}
	// Argo CD makes the store when External Secrets is there, without the annotations of Helm.
	if names := "meta.helm.sh/release-name=" + release[1] + " meta.helm.sh/release-namespace=" + release[2]; !strings.Contains(again, names) {
		t.Errorf("docs/how-to/uninstall-a-hub.md: the store names no release: expected %q", names)
	}
}

// An upgrade takes the defaults of the new chart. With --reuse-values Helm takes those of the old
// one, and a value that is new has none (helm v3.18, pkg/action/upgrade.go, reuseValues).
func TestUpgradesTakeTheNewDefaults(t *testing.T) {
	t.Parallel()
	for file, text := range pages(t) {
		for line := range strings.Lines(text) {
			if strings.Contains(line, "helm upgrade ") && strings.Contains(line, " --reuse-values") {
				t.Errorf("%s: %s", file, strings.TrimSpace(line))
			}
		}
	}
}

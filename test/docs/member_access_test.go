package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// docs/how-to/member-access.sh gives the hub the member's token by standard input, names both
// contexts where they belong, and prints values without a credential. kubectl and helm are
// stand-ins that note what they get.
func TestMemberAccessScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	for name, does := range map[string]string{
		"helm": "exit 0",
		"kubectl": `case "$*" in
*create\ token*) echo minted;;
*clusters*.server*) echo https://edge-1.example.com:6443;;
*certificate-authority-data*) echo Y2E=;;
*apply*) cat >> "$CALLS";;
esac`,
	} {
		text := "#!/bin/sh\necho " + name + " \"$@\" >> \"$CALLS\"\n" + does + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	values := filepath.Join(dir, "access.yaml")
	if err := os.WriteFile(values, []byte("name: \"deployer\" # of the hub\nnamespaces: {shop: {clusterRole: edit}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "sh", append([]string{filepath.Join(root, "docs/how-to/member-access.sh")}, args...)...)
		command.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "CALLS=" + log}
		var out bytes.Buffer
		command.Stdout = &out
		err := command.Run()
		return out.String(), err
	}
	out, err := script("edge-1", "edge-admin", "hub-admin", "flux-system", values, "chart")
	if err != nil {
		t.Fatal(err)
	}
	if want := "side: hub\nhub:\n  cluster: edge-1\n  server: https://edge-1.example.com:6443\n  caData: Y2E=\n"; out != want {
		t.Errorf("it prints %q, want %q", out, want)
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"helm --kube-context edge-admin upgrade --install member-access chart --namespace fleet-access --create-namespace --values " + values + " --set side=member\n",
		"kubectl --context edge-admin --namespace fleet-access create token deployer --duration 1h\n",
		"kubectl --context hub-admin apply --filename -\n",
		"  name: edge-1-access\n  namespace: flux-system\n  labels: {argosy.dev/cluster: edge-1, external-secrets.io/type: webhook}\nstringData: {token: minted}\n",
	} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("the calls lack %q:\n%s", want, calls)
		}
	}
	if strings.Count(string(calls), "minted") != 1 {
		t.Errorf("the token is in an argument:\n%s", calls)
	}
	if _, err := script("edge-1"); err == nil {
		t.Error("too few arguments are accepted")
	}
}

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/kubectl"
)

const backupDocument = "docs/how-to/back-up-a-hub.md"

// restored follows the document: the state of a hub is lost, and restored from a backup. A broken
// member gets the response that it had before.
func restored(t *testing.T, o *operated) {
	run := func(begins string) {
		t.Helper()
		text := strings.ReplaceAll(command(t, o.checkout, backupDocument, begins), "argosy-state ", lastingNamespace+" ")
		_, err := kubectl.Run(t.Context(), o.cluster.Client, o.dir, text)
		must(t, err)
	}
	ask := func(p string, token string) (int, string) {
		t.Helper()
		code, body, err := query(t.Context(), p, token, queries[0])
		must(t, err)
		return code, string(body)
	}
	must(t, o.cluster.Client.Apply(t.Context(), argocd.Namespace, []byte(strings.NewReplacer("dns-c", "dns-a", "cluster: c", "cluster: a").Replace(applicationOfC))))
	b := &balancer{o: o}
	b.add(t, "whole", o.build())
	b.add(t, "also", o.build())
	b.agree(t, func(body string) bool { return strings.Contains(body, `"name":"a"`) })
	o.write(t, memberA, "clusterName: [\n")
	o.push(t)
	b.agree(t, func(body string) bool { return strings.Contains(body, `"hold":"broken"`) })
	_, before := ask(b.all[0].URL, b.token)
	for _, p := range b.all {
		must(t, p.Process.Stop()) // which writes what it has
	}
	run("kubectl --namespace argosy-state get configmaps")

	_, err := kubectl.Run(t.Context(), o.cluster.Client, o.dir, "kubectl --namespace "+lastingNamespace+" delete configmaps --selector app.kubernetes.io/managed-by=argosy")
	must(t, err)
	lost := o.replica(t, "lost", o.build())
	if code, body := ask(lost.URL, b.token); code != http.StatusServiceUnavailable {
		t.Errorf("without its state: %d %s; expected 503", code, body)
	}
	must(t, lost.Process.Stop())

	run("kubectl create namespace argosy-state")
	run("kubectl --namespace argosy-state replace")
	p := o.replica(t, "restored", o.build())
	if code, body := ask(p.URL, b.token); code != http.StatusOK || body != before {
		t.Errorf("with the backup: %d %s; expected 200 %s", code, body, before)
	}
	must(t, p.Process.Stop())
	o.restore(t)
}

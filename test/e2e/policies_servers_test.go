package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// server: no cluster's Secret takes the server of another one, from its creation on or by a change.
func (p *policies) server(t *testing.T) {
	const mine, free = "https://mine.example:6443", "https://free.example:6443"
	unlabelled := clusterAt("unlabelled", mine)
	unlabelled.Labels = nil
	update := func(s *corev1.Secret) error {
		_, err := p.secrets(fleetWriter, hub.Namespace).Update(t.Context(), s, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	for _, s := range []*corev1.Secret{clusterAt("owner", mine), clusterAt("second", "https://second.example"), unlabelled} {
		_, err := p.secrets(fleetWriter, hub.Namespace).Create(t.Context(), s, metav1.CreateOptions{})
		must(t, err)
	}
	const taken = "server is that of the cluster Secret owner: "
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = p.create(t, fleetWriter, clusterAt("thief", mine)) // the API server hears of owner a moment later
		return denied(last), nil
	})
	if err != nil {
		t.Fatalf("the server of another cluster is admitted: %v", last)
	}
	p.expect(t, "the server of another", last, taken)
	p.expect(t, "a server of its own", p.create(t, fleetWriter, clusterAt("thief", free)), "")
	p.expect(t, "a server with a slash", p.create(t, fleetWriter, clusterAt("thief", mine+"/")), "server ends with a slash")
	p.expect(t, "a Secret without the label", update(unlabelled), "")
	p.expect(t, "a Secret of a repository", p.create(t, fleetWriter, repositorySecret("repository", at("https://git.example/x", "server", mine))), "")
	p.expect(t, "a change of one of two that were there before the policy", update(clusterAt("old-one", oldServer)), "")
	p.expect(t, "another's server by a change", update(clusterAt("second", mine)), taken)
	p.expect(t, "another's server by the label", update(clusterAt("unlabelled", mine)), taken)
	p.expect(t, "the same server as before", update(clusterAt("owner", mine)), "")
	p.expect(t, "a cluster that moves", update(clusterAt("owner", free)), "")
	for _, name := range []string{"owner", "second", "unlabelled", "old-one", "old-other"} {
		must(t, p.secrets(fleetWriter, hub.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
}

// oldServer is that of two clusters which were there before the policies were.
const oldServer = "https://old.example:6443"

func clusterAt(name, server string) *corev1.Secret {
	s := secret(name, "cluster", role)
	s.Data["server"] = []byte(server)
	return s
}

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// Node is the name of each cluster's node.
const Node = "node-1"

// acts creates the node and waits until the cluster acts (rule 5).
func (c *Cluster) acts(ctx context.Context, client *http.Client) error {
	kube, err := kubernetes.NewForConfigAndClient(c.Config(), client)
	if err != nil {
		return err
	}
	if _, err := kube.CoreV1().Nodes().Create(ctx, node(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create node %s: %w", Node, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, actsTimeout, fmt.Errorf("within %s", actsTimeout))
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		missing := firstMissing(ctx, kube)
		if missing == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for controllers: %w (%w)", missing, context.Cause(ctx))
		case <-c.ControllerManager.Exited():
			return ended(c.ControllerManager)
		case <-c.Scheduler.Exited():
			return ended(c.Scheduler)
		case <-c.KWOK.Exited():
			return ended(c.KWOK)
		}
	}
}

func ended(p *process.Process) error {
	return fmt.Errorf("%s ended while the cluster started: %s says why", p.Name(), p.Log())
}

// firstMissing says what is not yet as a cluster has it that acts.
func firstMissing(ctx context.Context, kube kubernetes.Interface) error {
	n, err := kube.CoreV1().Nodes().Get(ctx, Node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ready := false
	for _, condition := range n.Status.Conditions {
		ready = ready || condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	}
	switch {
	case !ready:
		return fmt.Errorf("node %s is not ready: that is for KWOK to say", Node)
	case len(n.Spec.Taints) > 0:
		return fmt.Errorf("node %s has taint %s: that is for kube-controller-manager to remove", Node, n.Spec.Taints[0].Key)
	}
	_, err = kube.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return errors.New("namespace default has no service account: that is for kube-controller-manager to create")
	}
	return err
}

// node is one that KWOK plays; its size is KWOK's: room for everything.
func node() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        Node,
		Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		Labels: map[string]string{
			corev1.LabelArchStable:         "amd64",
			corev1.LabelOSStable:           "linux",
			corev1.LabelHostname:           Node,
			corev1.LabelTopologyRegion:     "local",
			corev1.LabelTopologyZone:       "local-a",
			"node-role.kubernetes.io/node": "",
			"type":                         "kwok",
		},
	}}
}

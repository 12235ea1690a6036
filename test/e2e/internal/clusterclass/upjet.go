package clusterclass

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Upjet are the definitions of the kinds of Crossplane's provider-aws-eks (rule 6).
//
//go:embed upjet.yaml
var Upjet []byte

// connection is the credentials of a cluster, for those who ask for them: no thing of the cloud.
const connection = "connection"

const upjetGroup = "eks.aws.upbound.io"

var upjetVersion = []string{"spec", "forProvider", "version"}

var upjet = dialect{
	kinds: map[string]schema.GroupVersionResource{
		"cluster":  {Group: upjetGroup, Version: "v1beta2", Resource: "clusters"},
		"nodes":    {Group: upjetGroup, Version: "v1beta2", Resource: "nodegroups"},
		connection: {Group: upjetGroup, Version: "v1beta1", Resource: "clusterauths"},
	},
	finalizer: "finalizer.managedresource.crossplane.io",
	version:   upjetVersion,
	orphan: func(o *unstructured.Unstructured) bool {
		policy, _, _ := unstructured.NestedString(o.Object, "spec", "deletionPolicy")
		return policy == "Orphan"
	},
	status: upjetStatus,
}

// upjetStatus is what the provider writes of an object. What is there stays Ready while it changes.
func upjetStatus(ctx context.Context, p *ProviderStandIn, kind string, o *unstructured.Unstructured, synced bool) (map[string]any, error) {
	seen, _, _ := unstructured.NestedMap(o.Object, "status", "atProvider")
	switch {
	case !synced:
	case kind == connection:
		written, err := p.writeKubeconfig(ctx, o)
		if err != nil {
			return nil, err
		}
		if written {
			seen = map[string]any{"lastRefreshTime": time.Now().UTC().Format(time.RFC3339)}
		}
	default:
		version, _, _ := unstructured.NestedString(o.Object, upjetVersion...)
		seen = map[string]any{"version": version}
	}
	status := map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[len(seen) > 0], "reason": "StandIn"},
		map[string]any{"type": "Synced", "status": "True", "reason": "StandIn"},
	}}
	if len(seen) > 0 {
		status["atProvider"] = seen
	}
	return status, nil
}

// writeKubeconfig writes the connection Secret of a ClusterAuth, unless it is as it is to be.
func (p *ProviderStandIn) writeKubeconfig(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	url, authority := p.Endpoint(o.GetName())
	config := api.NewConfig()
	config.Clusters["eks"] = &api.Cluster{Server: url, CertificateAuthorityData: authority}
	config.AuthInfos["eks"] = &api.AuthInfo{Token: p.Token(o.GetName())}
	config.Contexts["eks"] = &api.Context{Cluster: "eks", AuthInfo: "eks"}
	config.CurrentContext = "eks"
	kubeconfig, err := clientcmd.Write(*config)
	if err != nil {
		return false, fmt.Errorf("kubeconfig of %s: %w", o.GetName(), err)
	}
	to, _, _ := unstructured.NestedStringMap(o.Object, "spec", "writeConnectionSecretToRef")
	secret, err := p.Client.Typed.CoreV1().Secrets(to["namespace"]).Get(ctx, to["name"], metav1.GetOptions{})
	if err == nil && bytes.Equal(secret.Data["kubeconfig"], kubeconfig) {
		return false, nil
	} else if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	return true, p.Client.ApplyObject(ctx, to["namespace"], &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1",
		"metadata": map[string]any{"name": to["name"], "ownerReferences": []any{map[string]any{
			"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": string(o.GetUID()), "controller": true,
		}}},
		"stringData": map[string]any{"kubeconfig": string(kubeconfig)},
	}})
}

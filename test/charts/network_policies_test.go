package charts_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// end is one end of a connection: a pod, or an address outside of the cluster.
type end struct {
	namespace string // empty outside
	labels    map[string]string
}

func (e end) String() string {
	if e.namespace == "" {
		return "outside"
	}
	return e.namespace + fmt.Sprint(e.labels)
}

// evaluator decides on connections as the documentation of Kubernetes says
// (concepts/services-networking/network-policies): nothing of the chart is in it.
type evaluator struct {
	policies   []*networkingv1.NetworkPolicy
	namespaces map[string]map[string]string // labels
}

// permits reports whether one end may connect to a port of another: its namespace lets it out, and
// the other's lets it in. An end that no policy of a direction selects is open in that direction.
func (e evaluator) permits(from, to end, protocol corev1.Protocol, port int) bool {
	return e.passes(from, to, networkingv1.PolicyTypeEgress, protocol, port) && e.passes(to, from, networkingv1.PolicyTypeIngress, protocol, port)
}

func (e evaluator) passes(own, peer end, direction networkingv1.PolicyType, protocol corev1.Protocol, port int) bool {
	isSelected := false
	for _, p := range e.policies {
		if own.namespace == "" || p.Namespace != own.namespace || !fits(&p.Spec.PodSelector, own.labels) || !slices.Contains(typesOf(p), direction) {
			continue
		}
		isSelected = true
		if direction == networkingv1.PolicyTypeIngress {
			for _, rule := range p.Spec.Ingress {
				if e.hasPeer(p.Namespace, rule.From, peer) && hasPort(rule.Ports, protocol, port) {
					return true
				}
			}
			continue
		}
		for _, rule := range p.Spec.Egress {
			if e.hasPeer(p.Namespace, rule.To, peer) && hasPort(rule.Ports, protocol, port) {
				return true
			}
		}
	}
	return !isSelected
}

// typesOf are the directions of a policy; without policyTypes, Ingress, and Egress if it has rules.
func typesOf(p *networkingv1.NetworkPolicy) []networkingv1.PolicyType {
	if len(p.Spec.PolicyTypes) > 0 {
		return p.Spec.PolicyTypes
	}
	if len(p.Spec.Egress) > 0 {
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	}
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
}

// hasPeer reports whether a rule names a peer; without peers it names all.
func (e evaluator) hasPeer(namespace string, peers []networkingv1.NetworkPolicyPeer, peer end) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			return peer.namespace == ""
		case peer.namespace == "":
			return false
		case p.NamespaceSelector == nil:
			return peer.namespace == namespace && fits(p.PodSelector, peer.labels)
		default:
			return fits(p.NamespaceSelector, e.namespaces[peer.namespace]) && (p.PodSelector == nil || fits(p.PodSelector, peer.labels))
		}
	})
}

func hasPort(ports []networkingv1.NetworkPolicyPort, protocol corev1.Protocol, port int) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if p.Protocol != nil && *p.Protocol != protocol || p.Protocol == nil && protocol != corev1.ProtocolTCP {
			return false
		}
		last := int32(0)
		if p.EndPort != nil {
			last = *p.EndPort
		}
		return p.Port == nil || p.Port.Type == intstr.Int && (p.Port.IntValue() == port || last > 0 && p.Port.IntValue() < port && port <= int(last))
	})
}

func fits(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}

// TestEvaluatorOfNetworkPolicies are cases of the documentation, so that the evaluator itself is
// believed.
func TestEvaluatorOfNetworkPolicies(t *testing.T) {
	in, out := networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	policy := func(spec networkingv1.NetworkPolicySpec) []*networkingv1.NetworkPolicy {
		return []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}, Spec: spec}}
	}
	client := metav1.LabelSelector{MatchLabels: map[string]string{"role": "client"}}
	namespace := metav1.LabelSelector{MatchLabels: map[string]string{"user": "alice"}}
	pod, same, other := end{"a", map[string]string{"app": "x"}}, end{"a", map[string]string{"role": "client"}}, end{"b", map[string]string{"role": "client"}}
	both := networkingv1.NetworkPolicyPeer{NamespaceSelector: &namespace, PodSelector: &client}
	for name, c := range map[string]struct {
		policies []*networkingv1.NetworkPolicy
		from, to end
		want     bool
	}{
		"no policy":                    {nil, other, pod, true},
		"default deny":                 {policy(networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{in}}), same, pod, false},
		"deny of ingress lets out":     {policy(networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{in}}), pod, other, true},
		"default deny of egress":       {policy(networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{out}}), pod, other, false},
		"types by default":             {policy(networkingv1.NetworkPolicySpec{}), other, pod, false},
		"allow all":                    {policy(networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{}}}), other, pod, true},
		"pods of the own namespace":    {policy(networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &client}}}}}), same, pod, true},
		"and of no other":              {policy(networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &client}}}}}), other, pod, false},
		"namespace and pods":           {policy(networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{both}}}}), other, pod, true},
		"namespace and pods, not same": {policy(networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{both}}}}), same, pod, false},
		"other pods are not selected":  {policy(networkingv1.NetworkPolicySpec{PodSelector: client}), other, pod, true},
	} {
		e := evaluator{c.policies, map[string]map[string]string{"a": {}, "b": {"user": "alice"}}}
		assert.Equal(t, c.want, e.permits(c.from, c.to, corev1.ProtocolTCP, 80), "%s", name)
	}
}

// TestTeamsNetworkPolicies: whom pods of a team talk to, by preset. Nobody outside of a namespace
// reaches its pods, not another namespace of the same team either; from `isolated`, only the
// namespace itself and the cluster's DNS are reached.
func TestTeamsNetworkPolicies(t *testing.T) {
	e := evaluator{namespaces: map[string]map[string]string{"kube-system": {"kubernetes.io/metadata.name": "kube-system"}, "fake": {"name": "kube-system"}, "default": {}}}
	for _, team := range []string{"a", "b"} {
		objects := rendering{}.objects(t, teamChart, fmt.Sprintf("team: {name: %[1]s, tenant: t, owners: [o], namespaces: [{name: %[1]s-small, preset: small}, {name: %[1]s-isolated, preset: isolated}]}\n", team))
		e.policies = append(e.policies, all[*networkingv1.NetworkPolicy](objects)...)
		for _, ns := range all[*corev1.Namespace](objects) {
			e.namespaces[ns.Name] = ns.Labels
		}
	}
	web, dns := map[string]string{"app": "web"}, map[string]string{"k8s-app": "kube-dns"}
	outside, resolver := end{}, end{"kube-system", dns}
	small, isolated := end{"a-small", web}, end{"a-isolated", web}
	ends := []end{outside, resolver, small, isolated, {"b-small", web}, {"b-isolated", web}, {"kube-system", web}, {"default", web}, {"fake", dns}, {"a-small", dns}}
	permitted := map[string]bool{}
	for _, to := range ends {
		for _, of := range []end{small, isolated} {
			permitted[fmt.Sprint(to, " -> ", of)] = to.namespace == of.namespace
		}
		permitted[fmt.Sprint(small, " -> ", to)] = to.namespace == "" || to.namespace == "a-small" || to.namespace == "kube-system" || to.namespace == "default" || to.namespace == "fake"
		permitted[fmt.Sprint(isolated, " -> ", to)] = to.namespace == "a-isolated"
	}
	got := map[string]bool{}
	for _, other := range ends {
		for _, own := range []end{small, isolated} {
			got[fmt.Sprint(other, " -> ", own)] = e.permits(other, own, corev1.ProtocolTCP, 8080)
			got[fmt.Sprint(own, " -> ", other)] = e.permits(own, other, corev1.ProtocolTCP, 8080)
		}
	}
	for _, connection := range slices.Sorted(maps.Keys(permitted)) {
		if got[connection] != permitted[connection] {
			t.Errorf("%s: permitted %t", connection, got[connection])
		}
	}
	for _, c := range []struct {
		protocol corev1.Protocol
		port     int
		to       end
		want     bool
	}{{corev1.ProtocolUDP, 53, resolver, true}, {corev1.ProtocolTCP, 53, resolver, true}, {corev1.ProtocolTCP, 443, resolver, false}, {corev1.ProtocolUDP, 53, end{"fake", dns}, false}, {corev1.ProtocolUDP, 53, end{"kube-system", web}, false}, {corev1.ProtocolUDP, 53, outside, false}} {
		assert.Equal(t, c.want, e.permits(isolated, c.to, c.protocol, c.port), "isolated -> %v, %s %d: permitted", c.to, c.protocol, c.port)
	}
}

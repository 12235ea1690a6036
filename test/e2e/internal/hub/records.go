package hub

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/test/e2e/internal/terraform"
)

// provision applies terraform/hub for the hub and terraform/spokes for each of its clusters, as the
// accounts in which examples/facts.yaml has them. It keeps the records and the facts that they
// write.
func (h *Hub) provision(ctx context.Context) error {
	h.o.Progress("the records of the clusters, by OpenTofu")
	r, err := terraform.New(ctx, h.binaries, h.o.Checkout, filepath.Join(h.o.Dir, "terraform"))
	if err != nil {
		return err
	}
	reached := map[string]terraform.Cluster{}
	connections := map[string]map[string]any{}
	for name, cluster := range h.Spokes {
		reached[name] = terraform.Cluster{Endpoint: cluster.URL, CA: base64.StdEncoding.EncodeToString(cluster.CAData)}
		connections[name] = map[string]any{"bearer_token": cluster.AdminToken}
	}
	for i, name := range h.o.Absent { // each an address of its own, by which Argo CD tells clusters apart
		reached[name] = terraform.Cluster{Endpoint: fmt.Sprintf("https://127.0.0.1:%d", i+1)}
		connections[name] = map[string]any{"bearer_token": "of nobody", "insecure": true}
	}
	if err := r.SetClusters(reached); err != nil {
		return err
	}
	self := h.facts[Name]
	region, account := self.Labels["aws_region"], self.Annotations["aws_account_id"]
	variables := h.variables(Name)
	maps.Copy(variables, map[string]any{
		"fleet": map[string]any{"url": h.Git.URL(Repository)}, "argosy_version": "0.1.0", "chart_repository": "oci://ghcr.io/argosy-hub/charts",
	})
	outputs, err := r.Apply(ctx, "hub", Name, account, variables)
	if err != nil {
		return err
	}
	if err := h.learn(Name, outputs); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(connections)) {
		member, err := h.agentFile(name)
		if err != nil {
			return err
		}
		variables := h.variables(name)
		maps.Copy(variables, map[string]any{
			"hub":      map[string]any{"name": Name, "region": region, "reader_role_arn": "arn:aws:iam::" + account + ":role/reader"},
			"vpc_cidr": "10.1.0.0/16", "agent": member.Agent == "true", "connection": connections[name],
		})
		outputs, err := r.Apply(ctx, "spokes", name, h.facts[name].Annotations["aws_account_id"], variables)
		if err != nil {
			return err
		}
		if err := h.learn(name, outputs); err != nil {
			return err
		}
	}
	return h.keepRecords(r)
}

// variables are those that a hub and a spoke share, from the facts of a cluster.
func (h *Hub) variables(name string) map[string]any {
	known := h.facts[name]
	return map[string]any{
		"region": known.Labels["aws_region"], "kubernetes_version": known.Labels["kubernetes_version"], "addons": known.Labels, "metadata": known.Annotations,
	}
}

// learn takes a cluster's facts from the outputs of its wrapper, and compares the name of its
// record with the name in the member's file. Of ARNs the end is left out, which AWS makes up.
func (h *Hub) learn(name string, outputs map[string]json.RawMessage) error {
	var facts Facts
	var secret string
	if err := json.Unmarshal(outputs["facts"], &facts); err != nil {
		return fmt.Errorf("facts of %s: %w", name, err)
	}
	if err := json.Unmarshal(outputs["secretManagerSecretName"], &secret); err != nil {
		return fmt.Errorf("record of %s: %w", name, err)
	}
	h.facts[name] = facts
	if key := h.Fleet.SecretKeys()[name]; name != Name && withoutEnd(key) != withoutEnd(secret) {
		return fmt.Errorf("record of %s: its file names %s; terraform/spokes has written %s", name, key, secret)
	}
	return nil
}

// withoutEnd is the ARN of a secret without the six characters that AWS adds; other names as they
// are.
func withoutEnd(secret string) string {
	if i := strings.LastIndex(secret, "-"); i >= 0 && strings.HasPrefix(secret, "arn:") {
		return secret[:i]
	}
	return secret
}

// keepRecords reads the members' records.
func (h *Hub) keepRecords(r *terraform.Runner) error {
	written, err := r.Records()
	if err != nil {
		return err
	}
	h.records = map[string]string{}
	for _, record := range written {
		if name, is := strings.CutPrefix(record.Name, Name+"/"); is && name != Name {
			h.records[name] = record.Value
		}
	}
	return nil
}

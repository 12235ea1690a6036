package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
)

const (
	// fluxAgentTeam is a team of the tenant of the member that deploys for itself.
	fluxAgentTeam = "insight"
	// fluxAgentApp is its application.
	fluxAgentApp = "insight-orders"
)

// fluxAgentWorkloads gives the member the groups of teams and of their applications. Its own Flux
// makes the team, and deploys the team's application from a repository that asks for the
// credentials that are on the member: as the team's ServiceAccount, within the team's bounds (T4).
// Nothing else on the member changes. It ends with the application deployed.
func fluxAgentWorkloads(t *testing.T, m *fluxEngine) {
	w := &fluxTeamRepository{fluxEngine: m, team: fluxAgentTeam, cluster: fluxMember, app: fluxAgentApp + "-" + fluxMember}
	w.serve(t)
	mark, before := m.ledger.mark(), m.uids()
	// What the hub would push; the name is that of docs/reference/agents.md.
	must(t, m.Client.Apply(t.Context(), flux.Namespace, fmt.Appendf(nil,
		"{apiVersion: v1, kind: Secret, metadata: {name: %s-git-orders}, stringData: {username: reader, password: of the team}}\n", fluxMember)))
	w.credentials(t, "github/analytics/orders")
	path, text, err := m.fleet.MemberFile(fluxMember)
	must(t, err)
	must(t, m.fleet.Write(path, text+"enable_remote_teams: \"true\"\nenable_remote_workloads: \"true\"\n"))
	must(t, m.fleet.Write("fleet/teams/"+w.team+".yaml", fmt.Sprintf(
		"name: %s\ntenant: analytics\nowners: [analytics-insight]\nclusters: {}\nnamespaces: [{name: %s, preset: small}]\nrepositories: [%q]\ndeniedKinds: [{group: batch, kind: CronJob}]\n", w.team, w.team, w.url)))
	must(t, m.fleet.Write("fleet/workloads.yaml", fmt.Sprintf(
		"components:\n  %s: {team: %s, kind: manifests, chart: {repoURL: %q, path: 'overlays/{{ .environment }}', version: main}, namespace: %s}\n", fluxAgentApp, w.team, w.url, w.team)))
	// Kinds of operators are not a team's without a level that says so.
	must(t, m.fleet.Write("addons/tenants/analytics/defaults/teams/team-"+w.team+"/values.yaml",
		"operatorRules: {ack: {apiGroups: [sqs.services.k8s.aws, dynamodb.services.k8s.aws, rds.services.k8s.aws], resources: ['*'], verbs: ['*']}}\n"))
	must(t, m.fleet.Write(w.level("analytics"), fluxAgentApp+": {enabled: true}\n"))
	began := m.push(t, "The team "+w.team+" with its application")
	release := "team-" + w.team + "-" + fluxMember
	m.eventually(t, "the team", func() string { return fluxReady(m.get(t, flux.HelmReleases, release)) })
	// At once: what had no namespace yet is tried again after half a minute.
	must(t, m.flux.Reconcile(t.Context(), flux.Kustomizations, flux.Namespace, w.app))
	w.replicas(t, 4)
	m.timed("push of a team and its application, to its objects", began)
	if account := fluxText(m.get(t, flux.Kustomizations, w.app), "spec", "serviceAccountName"); account != "team-"+w.team {
		t.Errorf("the Kustomization is applied as %q", account)
	}
	if queue := w.of(t, "Queue"); fluxText(queue, "spec", "queueName") != "checkout-orders-prod" {
		t.Errorf("queue %v; expected that of the overlay prod", queue)
	}
	// The cluster's labels are the hub's to bring, which is not there.
	m.settleExcept(t, plancheck.Exceptions{Unknown: []string{"ConfigMap cluster-info"}})
	m.only(t, mark, func(c change) bool { return strings.Contains(c.name, w.team) || c.name == fluxOrders })
	m.notRecreated(t, before)

	must(t, w.repo.Replace("overlays/prod/kustomization.yaml", "count: 4", "count: 3"))
	w.commit(t, "Three replicas")
	w.replicas(t, 3)
	w.refused(t, "a cluster-scoped object", "{apiVersion: v1, kind: Namespace, metadata: {name: more}}", `namespaces "more" is forbidden: User "`+w.account()+`" cannot`)
	w.refused(t, "a denied kind", "{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}", "team "+w.team+" may not deploy the kind CronJob")
	w.commit(t, "Within its bounds")
	w.replicas(t, 3)
}

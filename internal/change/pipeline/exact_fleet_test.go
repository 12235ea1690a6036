package pipeline

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// world is a generated fleet that commits change.
type world struct {
	*rand.Rand
	files fleettest.Tree
	// original are files that a commit may bring back.
	original fleettest.Tree
	rooted   bool
	isOwn    bool
	done     []string
	// hubs, tenants and components are names of the fleet, and new are members to be.
	hubs, tenants, components []string
}

// newWorld is the fleet of repository, rooted or bootstrapped from another repository, after some
// commits.
func newWorld(r *rand.Rand, original fleettest.Tree) *world {
	w := &world{
		Rand: r, files: maps.Clone(original), original: original,
		hubs: []string{"hub-1", "hub-2"}, tenants: []string{"tenant-0", "tenant-1"}, components: []string{fleettest.Component(0), fleettest.Component(1), fleettest.Component(2)},
	}
	if w.rooted = r.IntN(3) > 0; !w.rooted { // bootstrapped from another repository, with its charts
		for p := range w.files {
			if strings.HasPrefix(p, "fleet/bootstrap/") || strings.HasPrefix(p, "charts/") && !strings.HasPrefix(p, "charts/leaf/") {
				delete(w.files, p)
			}
		}
	}
	w.files[versions] = generatedReleases
	switch n := r.IntN(4); {
	case n == 0: // catalogs of its own, beside that of its releases' chart
		w.files[layout] = strings.Replace(ofChart, listed, "["+ownCatalog+"]", 1)
		if w.rooted {
			w.files[layout] = strings.Replace(ofChart, listed, "["+listed+", "+ownCatalog+"]", 1)
		}
		w.files[ownCatalog] = w.ownEntry()
	case n == 1 && w.rooted:
		w.files[layout] = ofChart
	}
	for _, hub := range w.hubs {
		if r.IntN(3) > 0 {
			w.set(w.member(hub, hub), "fleet_repo_url", ours)
			w.set(w.member(hub, hub), "fleet_repo_revision", "main")
		}
	}
	w.settle(r.IntN(12))
	return w
}

// newOwnWorld is this repository's own fleet after some commits.
func newOwnWorld(r *rand.Rand, original fleettest.Tree) *world {
	w := &world{
		Rand: r, files: maps.Clone(original), original: original, rooted: true, isOwn: true,
		hubs: []string{"hub-eu", "hub-us"}, tenants: []string{"retail", "payments", "analytics"}, components: []string{"cert-manager", "external-dns", "karpenter", "metrics-server", "kyverno"},
	}
	w.settle(r.IntN(6))
	return w
}

// settle makes commits that are not compared.
func (w *world) settle(n int) {
	for range n {
		w.edit()
	}
	w.done = nil
}

// ownCatalog is a catalog of the fleet's own.
const ownCatalog = "catalogs/own.yaml"

// ownEntry is the text of that catalog.
func (w *world) ownEntry() string {
	return "own-one: {enabled: " + w.pick("true", "true", "false") + ", namespace: own, chart: {repoURL: 'https://charts.example.com', name: own, version: 1." + w.pick("0", "1") + ".0}" +
		w.pick("", ", project: mine", ", syncPolicy: {automated: {prune: true}}", ", values: {a: 1}", ", selector: {matchLabels: {ring: a}}", ", selector: {matchLabels: {ring: a}}, project: mine", ", labels: {a: b}") + "}\n"
}

// generatedReleases are the releases of a generated fleet.
const generatedReleases = releases + "  fleet: [{type: default}]\n  resources: [{type: default}]\n"

// commit is the fleet after a commit of a few edits.
func (w *world) commit() (before, after fleettest.Tree) {
	before = maps.Clone(w.files)
	for range 1 + w.IntN(3) {
		w.edit()
	}
	return before, w.files
}

func (w *world) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w *world) member(hub, name string) string {
	return "fleet/fleet-members/" + hub + "/" + name + ".yaml"
}

// members are the files of the members, of hubs too.
func (w *world) members() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.files)), func(p string) bool { return !strings.HasPrefix(p, "fleet/fleet-members/") })
}

// set sets a key of a file of lines, or removes it.
func (w *world) set(file, key, value string) {
	text, is := w.files[file]
	if !is {
		return
	}
	isOf := false // below the key
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool {
		isOf = strings.HasPrefix(line, key+":") || isOf && strings.HasPrefix(line, " ")
		return isOf || line == ""
	})
	if value != "" {
		lines = append(lines, key+": "+value+"\n")
	}
	w.files[file] = strings.Join(lines, "")
}

// put writes a file, or removes it where the text is empty.
func (w *world) put(file, text string) {
	w.done = append(w.done, fmt.Sprintf("%s %.120q", file, text))
	if w.files[file] = text; text == "" {
		delete(w.files, file)
	}
}

// edit is one step of a commit.
func (w *world) edit() {
	switch w.IntN(20) {
	case 0, 1, 2, 3, 4, 5:
		w.editMember()
	case 6:
		w.moveMember()
	case 7, 8, 9, 10:
		w.editValues()
	case 11, 12:
		w.editRegistration()
	case 13, 14:
		w.editCatalog()
	case 15, 16:
		w.editVersions()
	case 17:
		w.editRoots()
	case 18:
		w.editCharts()
	default:
		w.editOther()
	}
}

func (w *world) editMember() {
	all := w.members()
	if w.IntN(12) == 0 || len(all) == 0 {
		hub, n := w.pick(append(w.hubs, "hub-3")...), fleettest.Cluster(7+w.IntN(3))
		if hub == "hub-3" && w.IntN(2) == 0 {
			w.put(w.member(hub, hub), "clusterName: hub-3\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n")
			return
		}
		w.put(w.member(hub, n), "clusterName: "+n+"\ntenant: "+w.pick(w.tenants...)+"\nenvironment: "+w.pick("dev", "prod")+"\nsecretManagerSecretName: "+hub+"/"+n+"\n")
		return
	}
	file := all[w.IntN(len(all))]
	if w.IntN(12) == 0 {
		w.put(file, "")
		return
	}
	key, value, _ := strings.Cut(w.pick(
		"tenant="+w.tenants[0], "tenant="+w.tenants[1], "environment=dev", "environment=prod", "environment=",
		"labels=", "labels={ring: a}", "labels={addonsRelease: canary}", "labels={addonsRelease: default}", "labels={fleetSecretRelease: next}", "labels={ring: b, web: 'yes'}",
		"annotations=", "annotations={x: y}", "annotations={x: z, owner: me}", "annotations={fleet_repo_revision: own}",
		"lifecycle=", "lifecycle=active", "lifecycle=draining", "lifecycle=retired", "deletion=cascade", "deletion=",
		"use_remote_argo=true", "use_remote_argo=true", "use_remote_argo=true", "use_remote_argo=", "enable_remote_addons=true", "enable_remote_addons=true", "enable_remote_addons=", "enable_remote_resources=true", "enable_remote_fleet=true",
		"remote_engine=flux", "remote_engine=argocd", "remote_engine=", "use_external_secrets=false", "use_external_secrets=true", "push_argo_secrets=true", "push_argo_secrets=",
		"githubSecret=true", "githubSecret=", "githubSecretName=github/app", "secretManagerSecretName=hub-1/other", "use_argocd_ingress=true", "use_fleet_ack=true",
		"fleet_repo_revision=next", "fleet_repo_revision=next", "fleet_repo_revision=main", "fleet_repo_revision=", "fleet_repo_url="+ours, "fleet_repo_url=https://git.example/own", "fleet_repo_basepath=fleet", "addons_repo_revision=next", "addons_repo_url=https://git.example/other", "addons_repo_basepath=addons", "addons_repo_basepath=other",
	), "=")
	w.done = append(w.done, fmt.Sprintf("%s %s: %s", file, key, value))
	w.set(file, key, value)
}

func (w *world) moveMember() {
	all := w.members()
	if len(all) == 0 {
		return
	}
	file := all[w.IntN(len(all))]
	name := file[strings.LastIndexByte(file, '/')+1 : len(file)-len(".yaml")]
	to := w.member(w.pick(append(w.hubs, "hub-3")...), name)
	if to == file || strings.HasPrefix(name, "hub-") {
		return
	}
	text := w.files[file]
	w.put(file, "")
	w.put(to, text)
}

// level is a folder of the hierarchy that some member reads.
func (w *world) level() string {
	files := w.members()
	file := files[w.IntN(len(files))]
	of := func(key string) string {
		_, after, _ := strings.Cut("\n"+w.files[file], "\n"+key+": ")
		value, _, _ := strings.Cut(after, "\n")
		return value
	}
	tenant := "addons/tenants/" + of("tenant") + "/"
	if of("fleet_member") != "" {
		return w.pick("addons/control-plane/defaults/", "addons/control-plane/environments/"+of("environment")+"/", "addons/control-plane/clusters/"+of("clusterName")+"/")
	}
	return w.pick("addons/defaults/", "addons/tenants/defaults/", tenant+"defaults/", tenant+"environments/"+of("environment")+"/", tenant+"clusters/"+of("clusterName")+"/", tenant+"clusters/"+of("clusterName")+"/")
}

// component is one of the group addons.
func (w *world) component() string { return w.pick(w.components...) }

func (w *world) editValues() {
	file, ext := w.level()+"addons/"+w.component()+"/values.yaml", ""
	text := w.pick("", "a: 1\n", "a: 2\n", "a: {b: 1, c: [1, 2]}\n", "a: {b: 2, c: [1]}\n", "# a comment\na: 1\n", "{}\n", "a: null\n", "replicaCount: 7\n", "replicaCount: 7\nlogLevel: none\n", "a: [{x: 1}, {x: 2}]\n", "a: ''\n", "section0: null\n")
	if w.IntN(4) == 0 {
		ext, text = ".gotmpl", w.pick("", "of: '{{ .labels.tenant }}'\n", "of: '{{ .annotations | toJson }}'\n", "of: '{{ .cluster }}'\n", "of: '{{ index .labels \"ring\" | default \"none\" }}'\n", "of: '{{ .member | toJson }}'\n", "of: '{{ .absent }}'\n")
	}
	w.put(file+ext, text)
}

func (w *world) editRegistration() {
	if w.IntN(5) == 0 {
		w.put(w.level()+"fleet/"+w.pick("argo-cd", "agent", "external-secrets")+"/values.yaml", w.pick("", "a: 1\n", "a: 2\n"))
		return
	}
	w.put(w.level()+"fleet/fleet-secret/values.yaml"+w.pick("", "", "", ".gotmpl"), w.pick("", "externalSecret: {labels: {tier: gold}}\n", "externalSecret: {labels: {tier: silver}}\n", "externalSecret: {annotations: {x: y}}\n", "externalSecret: {labels: {tier: gold}, refreshInterval: 1m}\n", "externalSecret: {refreshInterval: 1m}\n", "externalSecret: {}\n", "externalSecret: null\n",
		"externalSecret: {labels: {addonsRelease: canary}}\n", "externalSecret: {labels: {fleetSecretRelease: next}}\n", "externalSecret: {labels: null}\n", "secretStore: {name: a}\n", "secretStore: {create: false, kind: SecretStore, name: b}\n", "gitCredentials: {fleet: {type: http, url: https://git.example}}\n",
		"gitCredentials: {team: {type: ssh, url: https://git.example/team}}\n", "gitCredentials: {fleet: {enabled: false}}\n", "github: {local: true}\n", "githubSecret: true\n", "kubeconfig: {enabled: true}\n", "push: {token: {enabled: false}}\n", "push: {namespace: x}\n", "sealedSecrets: {enabled: true}\n", "ecr: {registries: [a]}\n", "server: x\n", "externalSecret: {source: y, labels: {}}\n"))
}

func (w *world) editCatalog() {
	c := w.component()
	if w.files[ownCatalog] != "" && w.IntN(3) == 0 {
		w.put(ownCatalog, w.ownEntry())
		return
	}
	if w.IntN(6) == 0 {
		group := w.pick("fleet", "resources")
		w.put(w.level()+"application-sets/"+group+".yaml", w.pick("", group+"-one: {enabled: true, chart: {repoURL: 'https://charts.example.com', name: one, version: 1.0.0}}\n", group+"-one: {enabled: true, chart: {repoURL: 'https://charts.example.com', name: one, version: 1.1.0}}\n", "argo-cd: {enabled: true}\n", "external-secrets: {enabled: false}\n", "storage-classes: {enabled: true}\n"))
		return
	}
	entry := w.pick("{enabled: true}", "{enabled: false}", "{enabled: true}", "{enabled: false}", "null", "{}", "{chart: {version: 9.9.9}}", "{namespace: other}", "{releaseName: name}", "{values: {of: '{{ .cluster }}'}}", "{values: {a: 3}}",
		"{selector: {matchLabels: {web: 'yes'}}}", "{selector: {matchLabels: {tenant: "+w.tenants[0]+"}}}", "{dependsOn: [addons/"+w.components[0]+"]}", "{project: other}", "{syncPolicy: {automated: {prune: true}}}", "{enabled: true, extra: {a: b}}", "{companions: {identity: {chart: {repoURL: 'https://charts.example.com', name: id, version: 1.0.0}, values: {a: 1}}}}")
	switch w.IntN(4) {
	case 0:
		file := w.pick(listed, catalogue)
		if w.isOwn {
			file = w.pick(listed, chart+"catalogs/fleet.yaml", chart+"catalogs/monitoring.yaml", "fleet/workloads.yaml", catalogue)
		}
		text, is := w.files[file]
		if !is {
			return
		}
		switch w.IntN(6) {
		case 0:
			text = strings.Replace(text, "version: 1.", "version: 2.", 1)
		case 1:
			text = strings.Replace(text, "namespace: system", "namespace: kube", 1)
		case 2:
			text = strings.Replace(text, "enabled: true", "enabled: false", 1)
		case 3:
			if file == catalogue { // that of a chart does not switch on
				text = strings.Replace(text, "enabled: false", "enabled: true", 1)
			}
		case 4:
			text = strings.Replace(text, c+":", "un"+c+":", 1)
		default:
			text = strings.Replace(text, c+":\n", c+":\n    "+w.pick("syncPolicy: {automated: {selfHeal: true}}", "project: mine", "annotations: {a: b}", "labels: {a: b}", "strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: argosy.dev/environment, operator: In, values: [dev]}]}]}}", "values: {entry: 1}", "info: [{name: a, value: b}]")+"\n", 1)
		}
		w.put(file, text)
	default:
		text := c + ": " + entry + "\n"
		if w.IntN(5) == 0 {
			text = ""
		}
		w.put(w.level()+"application-sets/addons.yaml", text)
	}
}

func (w *world) editVersions() {
	if w.IntN(4) == 0 {
		w.put("versions/fleetSecrets.yaml", w.pick(
			"releases: [{type: default, chartRepo: r, ecrChartName: fleet-secret, version: 1.0.0}]\n", "releases: [{type: default, chartRepo: r, ecrChartName: fleet-secret, version: 1.1.0}]\n",
			"releases: [{type: next, chartRepo: r, ecrChartName: fleet-secret, version: 2.0.0}, {type: default, chartRepo: r, ecrChartName: fleet-secret, version: 1.0.0}]\n",
			"releases: [{type: default, use_helm_repo_path: 'true', chartRepoUrl: '"+ours+"', chartRepoPath: charts/fleet-secret, chartRepoRevision: main}, {type: next, use_helm_repo_path: 'true', chartRepoUrl: '"+ours+"', chartRepoPath: charts/fleet-secret, chartRepoRevision: next}]\n"))
		return
	}
	text := w.original[versions]
	if !w.isOwn {
		text = generatedReleases
	}
	switch w.IntN(9) {
	case 0:
		text = strings.ReplaceAll(strings.Replace(text, "HEAD", "next", 1), "{type: canary}", "{type: canary, chartRepoRevision: next}")
	case 1:
		text = strings.Replace(strings.ReplaceAll(text, "{type: default}", "{type: default, chartRepoRevision: next}"), "- type: default\n", "- {type: default, chartRepoRevision: next}\n", 1)
	case 2:
		text = strings.ReplaceAll(text, ", {type: canary}", "")
	case 3:
		text = strings.ReplaceAll(text, "chartRepoRevision: main", "chartRepoRevision: HEAD")
	case 4:
		text = strings.ReplaceAll(text, "{type: canary}", "{type: canary, extra: {a: [1]}}")
	case 5:
		text = strings.ReplaceAll(text, "chartRepoRevision: main", "chartRepoRevision: main, extra: x")
	case 6:
		text = strings.ReplaceAll(text, "{type: default}", "{type: default, chartRepoPath: charts/own-sets}")
	case 7:
		text = strings.Replace(text, "fleet: [{type: default}]", "fleet: [{type: default, chartRepoRevision: next}]", 1)
	}
	w.put(versions, text)
}

func (w *world) editRoots() {
	roots := slices.DeleteFunc(slices.Sorted(maps.Keys(w.original)), func(p string) bool { return !strings.HasPrefix(p, "fleet/bootstrap/") })
	if w.files[roots[0]] == "" && w.files[roots[1]] == "" {
		return
	}
	file := roots[w.IntN(len(roots))]
	text := w.files[file]
	switch w.IntN(5) {
	case 0:
		if strings.Count(file, "/") > 2 { // the root Application names the repository
			text = ""
		}
	case 1:
		text = w.original[file]
	case 2:
		text = strings.Replace(text, "project: platform", "project: default", 1)
	case 3:
		text = strings.Replace(text, "spec:\n", "spec: # here\n", 1)
	default:
		text = strings.Replace(text, "limit: 10", "limit: "+w.pick("11", "12"), 1)
	}
	w.put(file, text)
}

func (w *world) editCharts() {
	file := w.pick(chart+"templates/applicationsets.yaml", chart+"values.yaml", "charts/leaf/templates/extra.yaml", "charts/leaf/values.yaml", "charts/fleet-secret/values.yaml", "charts/agent-bootstrap/values.yaml", nested, "charts/generator-plugin/values.yaml", chart+"Chart.yaml")
	text, is := w.files[file]
	switch {
	case !is && !w.rooted:
		return
	case strings.HasSuffix(file, "applicationsets.yaml"):
		text = strings.Replace(text, "      project: {{ $entry.project | toYaml }}", "      project: {{ $entry.project | toYaml }}\n      info: [{name: changed, value: here}]", 1)
	case file == nested:
		text += "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}\n"
	case strings.HasSuffix(file, "extra.yaml"):
		text += "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: leaf}}\n"
	case strings.HasSuffix(file, "Chart.yaml"):
		text = strings.Replace(text, "description: ", "description: More ", 1)
	case file == chart+"values.yaml":
		old, updated, _ := strings.Cut(w.pick("namePrefix: \"\"=namePrefix: p", "configMapName: generator-plugin=configMapName: other", "release: default=release: default # here", "requeueAfterSeconds: 1800=requeueAfterSeconds: 60"), "=")
		text = strings.Replace(text, old, updated, 1)
	default:
		text += w.pick("# more\n", "more: 1\n", "extra: []\n")
	}
	w.put(file, text)
}

func (w *world) editOther() {
	n := w.IntN(6)
	if w.isOwn && n == 2 {
		return // its layout
	}
	switch n {
	case 5:
		w.put("fleet/registration/"+w.pick("retail-prod-eu-1", "payments-prod-eu-1", fleettest.Cluster(7))+"/fleet/fleet-secret/values.yaml", w.pick("", "externalSecret: {refreshInterval: 2m}\n", "push: {token: {enabled: true}}\n", "externalSecret: {labels: {ring: z}}\n"))
	case 0:
		w.put("README.md", w.pick("", "a\n", "b\n"))
	case 1:
		w.put("fleet/rollouts/all.yaml", w.pick("", "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nagents: true\nrings:\n- {name: first, selector: {matchLabels: {environment: dev}}}\n- {name: last, selector: {}}\n"))
	case 2:
		if w.files[layout] == "" || !strings.Contains(w.files[layout], "catalog") {
			w.put(layout, w.pick("", "kind: Layout\nmerge: [{path: list, strategy: append}]\n", "kind: Layout\nguard: {maxRemovals: 1}\n"))
		}
	case 3:
		file := w.pick(slices.Sorted(maps.Keys(w.files))...)
		if strings.HasSuffix(file, ".yaml") && !strings.Contains(file, "/templates/") {
			w.put(file, "# moved down\n\n"+w.files[file])
		}
	default:
		w.put("unrelated/"+w.pick("a", "b")+".yaml", w.pick("", "a: 1\n"))
	}
}

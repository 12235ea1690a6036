package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// generated makes up Applications and ApplicationSets, and the files that they deploy.
type generated struct {
	*rand.Rand
	name string // of the Application, and of its folder in gen/
	add  func(name, text string)
}

// any adds one of any kind.
func (g *generated) any() {
	[]func(){g.chart, g.kustomization, g.manifests, g.set}[g.IntN(4)]()
}

func (g *generated) file(name, text string) { g.add("gen/"+g.name+"/"+name, text) }

// application adds an Application with the options of a source.
func (g *generated) application(path, options string) {
	g.add(renderedFile(g.name, "{path: gen/"+g.name+path+options+"}"))
}

// some returns some of the texts, in any order.
func (g *generated) some(of ...string) (out []string) {
	for _, i := range g.Perm(len(of)) {
		if g.IntN(2) == 0 {
			out = append(out, of[i])
		}
	}
	return out
}

func (g *generated) pick(of ...string) string { return of[g.IntN(len(of))] }

// tree returns a random map as JSON.
func (g *generated) tree(depth int) string {
	var entries []string
	for _, key := range g.some("a", "b", "c", "global", "child", "list", "size") {
		value := g.pick(`1`, `1.5`, `true`, `"text"`, `"01"`, `""`, `[]`, `{}`, `[1, {"a": 2}]`, `"on"`, `12345678901`, `-3e2`, `"a,b"`)
		if depth > 0 && (key == "global" || key == "child" || g.IntN(3) == 0) {
			value = g.tree(depth - 1)
		} else if key == "global" || key == "child" {
			value = "{}"
		}
		entries = append(entries, fmt.Sprintf("%q: %s", key, value))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// chart adds a chart, mostly with a chart in it, and an Application with random options of Helm.
func (g *generated) chart() {
	const dump = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-{{ .Chart.Name }}\n  labels: {{- include \"%s.labels\" . | nindent 4 }}\ndata:\n  values: {{ .Values | toJson | quote }}\n  text: |\n    {{- toYaml .Values | nindent 4 }}\n"
	const labels = "{{- define \"%s.labels\" -}}\nchart: {{ .Chart.Name }}-{{ .Chart.Version }}\nrelease: {{ .Release.Name }}\n{{- end }}\n"
	chart := "apiVersion: v2\nname: own\nversion: 1.0.0\n"
	if g.IntN(4) > 0 {
		chart += "dependencies:\n- {name: child, version: 1.0.0, repository: ''" + strings.Join(append([]string{""}, g.some("condition: 'child.a,child.enabled'", "tags: [t]", "alias: list2")...), ", ") + "}\n"
		g.file("charts/child/Chart.yaml", "apiVersion: v2\nname: child\nversion: 1.0.0\n")
		g.file("charts/child/values.yaml", g.tree(2))
		g.file("charts/child/templates/_helpers.tpl", fmt.Sprintf(labels, "child"))
		g.file("charts/child/templates/dump.yaml", fmt.Sprintf(dump, "child"))
	}
	g.file("Chart.yaml", chart)
	g.file("values.yaml", g.tree(3))
	g.file("x.yaml", g.tree(2))
	g.file("sub/z.yaml", g.tree(2))
	g.file("templates/_helpers.tpl", fmt.Sprintf(labels, "own"))
	g.file("templates/dump.yaml", fmt.Sprintf(dump, "own"))
	for _, part := range g.some(
		"{{- range $k, $v := .Values }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'each-{{ $k | lower }}'}\ndata: {kind: {{ kindOf $v }}, v: {{ $v | quote }}}\n{{- end }}\n",
		"{{- if and .Values.size (not .Values.list) }}\napiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: {helm.sh/hook: 'pre-install, post-upgrade'}}\nspec: {ports: [{port: 80}]}\n{{- else }}\n# nothing\n{{- end }}\n",
		"apiVersion: v1\nkind: List\nitems:\n{{- range until 2 }}\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: 's{{ . }}'}\n  stringData: {a: b}\n{{- end }}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tpl, namespace: {{ .Values.ns | default .Release.Namespace }}}\ndata: {a: {{ tpl \"{{ .Values.c | toJson }}\" . | quote }}, b: '{{ .Files.Get \"x.yaml\" | b64enc }}'}\n",
	) {
		g.file(fmt.Sprintf("templates/t%d.yaml", g.IntN(9)), part)
	}
	options := g.some(
		"releaseName: "+g.pick("rel", "other-release"), "skipCrds: true", "ignoreMissingValueFiles: true", "namespace: forced", "kubeVersion: '1.25'", "passCredentials: true",
		"valueFiles: ["+strings.Join(g.some(g.pick("x.yaml", "/gen/"+g.name+"/x.yaml", "./sub/../x.yaml"), "sub/z.yaml", "none.yaml"), ", ")+"]",
		"values: "+quoted(g.tree(2)), "valuesObject: "+g.tree(2),
		"parameters: ["+strings.Join(g.some("{name: a, value: '1'}", "{name: a, value: '1', forceString: true}", "{name: child.b, value: x}", "{name: global.g, value: 'true'}", "{name: 'list[0]', value: $ARGOCD_APP_NAME}", "{name: c, value: '{x,y}'}"), ", ")+"]",
	)
	g.application("", ", helm: {"+strings.Join(options, ", ")+"}")
}

// kustomization adds a base, an overlay and a component.
func (g *generated) kustomization() {
	resources := map[string]string{
		"deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: 'nginx:1', envFrom: [{configMapRef: {name: conf}}]}]}\n",
		"service.yaml":    "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {a: b}}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n",
		"cron.yaml":       "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: cron, namespace: own}\nspec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}}\n",
		"roles.yaml":      "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: crb}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects: [{kind: ServiceAccount, name: default, namespace: x}]\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n",
		"thing.yaml":      "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: thing}\nspec: {image: nginx, replicas: 1, on: yes, octal: 0644}\n",
	}
	names := g.some("service.yaml", "cron.yaml", "roles.yaml", "thing.yaml")
	for _, name := range append(names, "deployment.yaml") {
		g.file("base/"+name, resources[name])
	}
	generator := func() string {
		return "configMapGenerator: [{name: conf, literals: [" + strings.Join(append([]string{"z=1"}, g.some("a=b", "'c=d=e'", "'f=\"g\"'")...), ", ") + "]}]\n"
	}
	g.file("base/kustomization.yaml", "resources: ["+strings.Join(append(names, "deployment.yaml"), ", ")+"]\n"+generator())
	g.file("component/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"+strings.Join(g.some("commonAnnotations: {of: component}\n", "patches: [{target: {kind: Service}, path: p.yaml}]\n", "namespace: comp\n"), ""))
	g.file("component/p.yaml", "- {op: add, path: /spec/type, value: NodePort}\n")
	g.file("overlay/patch.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  template: {spec: {containers: [{name: side, image: side}, {name: web, resources: {limits: {cpu: 1}}}]}}\n")
	g.file("overlay/kustomization.yaml", "resources: [../base]\n"+strings.Join(g.some(
		"namePrefix: p-\n", "nameSuffix: -s\n", "namespace: over\n", g.pick("commonLabels: {l: m}\n", "labels: [{pairs: {l: m}, includeSelectors: false}]\n", "labels: [{pairs: {l: m}, includeSelectors: true}]\n"),
		"commonAnnotations: {note: 'on'}\n", "images: [{name: nginx, newName: other/nginx, newTag: '2.0'}, {name: busybox, digest: 'sha256:0000000000000000000000000000000000000000000000000000000000000000'}]\n",
		"replicas: [{name: web, count: 5}]\n", "components: [../component]\n", "generatorOptions: {disableNameSuffixHash: true}\n",
		"patches:\n- path: patch.yaml\n- target: {kind: Deployment}\n  patch: '[{\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"j\": \"6902\"}}]'\n",
		strings.Replace(generator(), "name: conf", g.pick("name: conf, behavior: merge", "name: conf, behavior: replace", "name: more"), 1),
		"sortOptions: {order: legacy}\n",
	), ""))
	options := g.some("namePrefix: q-", "nameSuffix: -t", "namespace: forced", "images: ['nginx="+g.pick("other:3", "*:3", "nginx@sha256:0000000000000000000000000000000000000000000000000000000000000000")+"', 'busybox:$ARGOCD_APP_NAME']",
		"replicas: [{name: web, count: "+g.pick("3", "'4'")+"}]", "commonLabels: {"+g.pick("own: 'x'", "l: other", "a: $ARGOCD_APP_NAMESPACE")+"}, "+g.pick("forceCommonLabels", "labelWithoutSelector")+": true",
		"commonAnnotations: {"+g.pick("note: other", "b: $ARGOCD_APP_NAME")+"}, "+g.pick("commonAnnotationsEnvsubst", "forceCommonAnnotations")+": true", "components: [../component]",
		"patches: [{target: {kind: Deployment}, patch: '- {op: add, path: /spec/minReadySeconds, value: 7}'}, {patch: '{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: LoadBalancer}}'}]")
	kustomize := ", kustomize: {" + strings.Join(options, ", ") + "}"
	g.application(g.pick("/overlay", "/base"), g.pick("", kustomize, kustomize))
}

// manifests adds folders of manifests, and an Application that reads some of them.
func (g *generated) manifests() {
	for i, dir := range append(g.some("", "a/", "a/b/", "c/", ".hidden/"), "d/") {
		for _, name := range append(g.some("x.yaml", "z.yml", "README.md", "x-test.yaml"), "o.yaml") {
			text := ""
			for n := range 1 + g.IntN(3) {
				text += g.pick("---\n", "---\n# a comment\n---\n", "\n--- \n") + fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d-%d-%d%s}\ndata: {v: '%d'}\n%s", i, n, len(name), g.pick("", ", labels: {a: b}", ", annotations: {argocd.argoproj.io/sync-wave: '1'}", ", namespace: own"), n, g.pick("", "...\n", "# end\n"))
			}
			g.file(dir+name, text)
		}
		g.file(dir+"j.json", g.pick(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}}`, `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "in-list"}}]}`))
	}
	options := g.some("recurse: true", "include: '"+g.pick("*.yaml", "{a,d}/*", "**/x*", "d/o.yaml", "*.{yml,json}", "[a-c]/*", "?/x.yaml")+"'", "exclude: '"+g.pick("*test*", "a/**", "*.json", "{c/*,*.yml}", "d/*")+"'")
	g.application(g.pick("", "", "/d"), ", directory: {"+strings.Join(options, ", ")+"}")
}

// set adds an ApplicationSet.
func (g *generated) set() {
	for _, dir := range []string{"one", "two", "Three_3", "one/deep"} {
		g.file("envs/"+dir+"/config.json", fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "env": %q, "tree": %s, "n": %d}`, strings.ToLower(g.pick("dev", "prod")), g.tree(1), g.IntN(9)))
	}
	isGo := g.IntN(2) == 0
	param := func(name string) string {
		if isGo {
			name = "." + name
		}
		return "{{" + name + "}}"
	}
	folder, git := "gen/"+g.name+"/envs/", "{repoURL: REPO, revision: main, "
	path := param("path.path")
	if !isGo {
		path = param("path")
	}
	files := "git: " + git + "files: [{path: '" + folder + g.pick("*/config.json", "**/config.json", "one/*", "{one,two}/config.json") + "'}], values: {v: 'of-" + param("n") + "'}}"
	dirs := "git: " + git + "directories: [{path: '" + folder + g.pick("*", "**", "o*") + "'}" + g.pick("", ", {path: '"+folder+"two', exclude: true}") + "]}"
	list := "list: {elements: [{k: x, size: '1'}, {k: z, size: '2'}]}"
	clusters := "clusters: {selector: {matchLabels: {environment: " + g.pick("dev", "prod") + "}}, values: {c: 'on-" + param("name") + "'}}"
	name, info := param("path.basenameNormalized"), param("path.basename")
	generator := ""
	switch g.IntN(5) {
	case 0:
		generator, info = files, info+" "+param("values.v")+" "+param("env")
	case 1:
		generator = dirs
	case 2:
		generator, name, info = "matrix: {generators: [{"+g.pick(dirs, files)+"}, {"+list+"}]}", name+"-"+param("k"), info+" "+param("size")
	case 3:
		generator, name, info = "matrix: {generators: [{"+clusters+"}, {"+dirs+"}]}", name+"-"+param("name"), info+" "+param("values.c")+" "+param("server")
	case 4:
		generator, name, info, path = "merge: {mergeKeys: [k], generators: [{"+list+"}, {list: {elements: [{k: "+g.pick("x", "z", "none")+", size: '9'}]}}]}", param("k"), param("size"), "plain"
	}
	head := ""
	if isGo {
		head = "  goTemplate: true\n  goTemplateOptions: [" + g.pick("missingkey=error", "", "missingkey=default") + "]\n"
		if g.IntN(2) == 0 {
			head += "  templatePatch: |\n    metadata: {labels: {a: '" + name + "'}, annotations: {x: {{ toJson .path | quote }}}}\n    spec: {source: {directory: {recurse: " + g.pick("true", "false") + "}}, syncPolicy: {automated: {prune: true}}}\n"
		}
		info += g.pick("", " {{ .path | toJson }}", " {{ default \"none\" .tree | toJson | replace \"\\\"\" \"'\" }}", " {{ len .path }}")
	}
	g.add("sets/"+g.name+".yaml", "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: "+g.name+", namespace: argocd}\nspec:\n"+head+"  generators:\n  - "+generator+
		"\n  template:\n    metadata: {name: '"+g.name+"-"+name+"'}\n    spec:\n      project: default\n      destination: {server: https://kubernetes.default.svc, namespace: '"+name+"'}\n      source: {repoURL: REPO, targetRevision: main, path: '"+path+"'}\n      info: [{name: i, value: "+quoted(info)+"}]\n")
}

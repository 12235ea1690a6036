package scaffold

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
)

// likeOptions are keys beside the components in the shape's catalogs: options of its chart.
var likeOptions = []string{
	"ackPodIdentity", "globalSelectors", "globalValuesObject", "mergeValues", "repoURLGit", "repoURLGitBasePath", "repoURLGitRevision",
	"syncPolicy", "syncPolicyAppSet", "useSelectors", "useValuesFilePrefix", "useVersionSelectors", "valueFiles", "valuesFilePrefix",
}

// likeKeys are the keys that the shape's entries have under Argosy's names.
var likeKeys = []string{
	catalog.KeyEnabled, catalog.KeyNamespace, catalog.KeyReleaseName, catalog.KeySelector, catalog.KeyKind, catalog.KeyDependsOn, catalog.KeySubstitute,
	"syncPolicy", "ignoreDifferences",
}

// convert writes the shape's catalogs in Argosy's format: a group's to fleet/catalogs, a level's to
// the folder catalogs of the level. It returns the files that they are made of.
func (s starter) convert(d *Draft) ([]string, error) {
	var from []string
	for _, group := range d.layout.GroupNames() {
		var below []*yamldoc.Node // of the group, as they are
		for _, name := range likeGroups[group] {
			file := path.Join(likeCatalogs, name+".yaml")
			root, err := d.convertFile(file, path.Join("fleet/catalogs", name+".yaml"), below, false)
			if err != nil {
				return nil, err
			}
			if root != nil {
				below, from = append(below, root), append(from, file)
				s.Catalogs[group] = append(s.Catalogs[group], path.Join("fleet/catalogs", name+".yaml"))
			}
		}
		for _, f := range d.before.FilesUnder(d.layout.Groups[group].Root) {
			dir, is := strings.CutSuffix(f.Path, "/application-sets/"+group+".yaml")
			if !is {
				dir, is = strings.CutSuffix(f.Path, "/"+group+".yaml")
				is = is && path.Base(path.Dir(dir)) == "bootstrap"
			}
			if !is {
				continue
			}
			if _, err := d.convertFile(f.Path, path.Join(dir, "catalogs", group+".yaml"), below, true); err != nil {
				return nil, err
			}
			from = append(from, f.Path)
		}
	}
	slices.Sort(from)
	return slices.Compact(from), nil
}

// convertFile converts one catalog; root is nil where there is none.
func (d *Draft) convertFile(from, to string, below []*yamldoc.Node, isLevel bool) (root *yamldoc.Node, err error) {
	file := d.before.File(from)
	if file == nil {
		return nil, nil
	}
	doc, err := document(file)
	if err != nil {
		return nil, err
	}
	entries := map[string]any{}
	for _, f := range catalog.Entries(doc.Root).Fields() {
		if slices.Contains(likeOptions, f.Key) {
			continue
		}
		name := componentOf(f)
		if entries[name] != nil {
			return nil, refuse("%s: %s is twice a component, with - and with _", f.Value.Pos(), name)
		}
		e := likeEntry{component: name, own: f.Value, isLevel: isLevel}
		for _, root := range below {
			for _, g := range catalog.Entries(root).Fields() {
				if componentOf(g) == name {
					e.below = append(e.below, g.Value)
				}
			}
		}
		entries[name] = e.converted()
	}
	text, err := yamldoc.FromAny(nil, map[string]any{catalog.ComponentsKey: entries}).YAML()
	if err != nil {
		return nil, err
	}
	d.Files[to] = "# From " + from + ".\n" + string(text)
	return doc.Root, nil
}

// componentOf returns Argosy's name of a component.
func componentOf(entry yamldoc.Field) string { return strings.ReplaceAll(entry.Key, "_", "-") }

// likeEntry is an entry of the shape's catalogs, with the entries of the component below it.
type likeEntry struct {
	component string
	own       *yamldoc.Node
	below     []*yamldoc.Node
	isLevel   bool
}

// known returns the text at a path, of this entry or of one below.
func (e likeEntry) known(path ...string) string {
	for _, n := range slices.Backward(append(slices.Clone(e.below), e.own)) {
		for _, key := range path {
			n = n.Get(key)
		}
		if n != nil {
			return n.Text()
		}
	}
	return ""
}

// converted returns the entry in Argosy's format. A chart that is a folder of the fleet repository
// has no version of its own.
func (e likeEntry) converted() any {
	if !e.own.IsMap() {
		return e.own.Any()
	}
	out, chart, companions := map[string]any{}, map[string]any{}, map[string]any{}
	for _, key := range likeKeys {
		if n := e.own.Get(key); n != nil {
			out[key] = n.Any()
		}
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return !e.own.Get(key).IsNull() })
	}
	if name := e.own.Get("chartName").Text(); name != "" {
		if e.known(catalog.KeyReleaseName) == "" {
			out[catalog.KeyReleaseName] = name
		}
		if !e.isLevel {
			out[catalog.KeyFolder] = name
		}
	}
	switch isFolder := e.known("path") != ""; {
	case isFolder && has("path"):
		chart = e.folder(e.own)
	case isFolder:
	default:
		for key, own := range map[string]string{"chartRepository": "repoURL", "defaultVersion": "version"} {
			if has(key) {
				chart[own] = e.own.Get(key).Text()
			}
		}
		if has("chartName", "chartNamespace") || has("chartRepository") && e.known("chartName") == "" {
			chart["name"] = path.Join(e.known("chartNamespace"), cmp.Or(e.known("chartName"), e.component))
		}
	}
	if n := e.own.Get("valuesObject"); n != nil {
		out[catalog.KeyValues] = n.Any()
	}
	if more := e.own.Get("additionalResources"); more.IsMap() {
		companion := map[string]any{}
		if more.Get("path") != nil {
			companion[catalog.KeyChart] = e.folder(more)
		}
		if values := more.Get("helm").Get("valuesObject"); values != nil {
			companion[catalog.KeyValues] = values.Any()
		}
		if kind := e.known("additionalResources", "type"); kind == "ecr-token" || kind == "ingress" {
			companions[kind] = companion
		}
	}
	if on := e.own.Get("enableAckPodIdentity"); on != nil {
		companions["pod-identity"] = e.podIdentity(on.Any())
	}
	for key, of := range map[string]map[string]any{catalog.KeyChart: chart, catalog.KeyCompanions: companions} {
		if len(of) > 0 {
			out[key] = of
		}
	}
	return out
}

// folder returns the chart in a folder, of the fleet repository unless the entry names another.
func (e likeEntry) folder(of *yamldoc.Node) map[string]any {
	out := map[string]any{"path": of.Get("path").Text(), "repoURL": "{{ .metadata.annotations.fleet_repo_url }}", "version": "{{ .metadata.annotations.fleet_repo_revision }}"}
	for _, k := range [][2]string{{"chartRepository", "repoURL"}, {"repoURL", "repoURL"}, {"defaultVersion", "version"}, {"version", "version"}} {
		key, own := k[0], k[1]
		if (of.Get("repoURL") != nil || of.Get("chartRepository") != nil) && of.Get(key) != nil {
			out[own] = of.Get(key).Text()
		}
	}
	return out
}

// podIdentity returns the companion that the entry switches; a level's says no more than that.
func (e likeEntry) podIdentity(on any) map[string]any {
	if e.isLevel {
		return map[string]any{catalog.KeyValues: map[string]any{"create": on}}
	}
	return map[string]any{
		catalog.KeyChart: map[string]any{"path": "charts/pod-identity", "repoURL": "{{ .metadata.annotations.fleet_repo_url }}", "version": "{{ .metadata.annotations.fleet_repo_revision }}"},
		catalog.KeyValues: map[string]any{
			"create": on, "region": `{{ index .metadata.annotations "aws_region" | default "" }}`, "accountId": `{{ index .metadata.annotations "aws_account_id" | default "" }}`,
			"podIdentityAssociation": map[string]any{"clusterName": "{{ .name }}"},
		},
	}
}

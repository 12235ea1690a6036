package importer

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/scaffold"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// pluginConfiguration is the ConfigMap that charts/generator-plugin creates.
const pluginConfiguration = "generator-plugin"

// files returns the files of the fleet's repository, and the number of lines of values in them.
func (m *importer) files(components map[string][]*application) (files map[string][]byte, valueLines int, err error) {
	w := writer{files: map[string][]byte{}}
	w.text(fleet.LayoutFile, m.layout())
	for _, cluster := range slices.Sorted(maps.Keys(m.members)) {
		member := m.members[cluster]
		text, err := member.Text()
		if err != nil {
			return nil, 0, err
		}
		w.text(fmt.Sprintf("fleet/fleet-members/%s/%s.yaml", m.o.Hub, member.Name), text)
	}
	w.text("versions/applicationSets.yaml", "releases:\n  globals:\n"+m.chart("    ", "application-sets")+"  "+m.o.Group+":\n"+m.releaseItems())
	w.text("versions/fleetSecrets.yaml", "releases:\n  - type: default\n"+m.chart("    ", "fleet-secret"))
	for folder, entries := range m.catalogs(components) {
		if folder == m.base() {
			w.tree(m.catalogFile(), fmt.Sprintf("# The components of the group %s: where each comes from.\n", m.o.Group), entries)
		} else {
			w.tree(fmt.Sprintf("%s/application-sets/%s.yaml", folder, m.o.Group), "", entries)
		}
	}
	if m.kept == nil {
		for file, values := range m.values(components) {
			w.tree(file, "", values)
			if len(values) > 0 {
				valueLines += bytes.Count(w.files[file], []byte("\n"))
			}
		}
	} else {
		for file, f := range m.kept.files {
			if w.files[file] != nil {
				return nil, 0, unkept(fmt.Sprintf("%s is a value file, and the fleet needs a file of that name", file))
			}
			w.files[file] = f.Data
		}
	}
	if err := m.applicationSetFiles(&w, components); err != nil {
		return nil, 0, err
	}
	if m.kept != nil {
		m.reportReplaced(w.files)
	}
	return w.files, valueLines, w.err
}

// reportReplaced reports files of the value files' repository that the fleet writes differently.
// The fleet is copied over that repository.
func (m *importer) reportReplaced(files map[string][]byte) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if was := m.kept.repository.File(name); was != nil && !bytes.Equal(was.Data, files[name]) {
			m.report(problem.Pos{File: name}, "the file", "the fleet has another file of this name, which replaces it where the fleet is copied over the repository",
				"move the repository's file first; --group gives the fleet's catalog and folders another name")
		}
	}
}

// chart returns the keys of a release that name one of Argosy's charts.
func (m *importer) chart(indent, name string) string {
	return fmt.Sprintf("%[1]suse_helm_repo_path: \"false\"\n%[1]schartRepo: %[2]s\n%[1]secrChartName: %[3]s\n%[1]sversion: %[4]s\n", indent, scaffold.Charts, name, m.o.ChartsVersion)
}

// writer collects files.
type writer struct {
	files map[string][]byte
	err   error
}

func (w *writer) text(name, text string) { w.files[name] = []byte(text) }

func (w *writer) tree(name, comment string, t tree) {
	data, err := yamldoc.FromAny(nil, t).YAML()
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%s: %w", name, err)
	}
	w.files[name] = append([]byte(comment), data...)
}

func (m *importer) catalogFile() string { return "application-sets/" + m.o.Group + ".yaml" }

// layout returns the layout file.
func (m *importer) layout() string {
	var b strings.Builder
	b.WriteString("apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n")
	for _, group := range fleet.DefaultLayout().GroupNames() {
		if group != m.o.Group {
			fmt.Fprintf(&b, "  %s: null\n", group)
		}
	}
	if m.kept != nil {
		b.WriteString(m.kept.layout(m.catalogFile()))
		if m.kept.isOverruled {
			b.WriteString("catalogValues: last # as values and valuesObject beat value files\n")
		}
		return b.String()
	}
	fmt.Fprintf(&b, "  %[1]s:\n    root: %[1]s\n    catalog: %[2]s\n", m.o.Group, m.catalogFile())
	if m.severalTenants() {
		b.WriteString(`levels: # least specific first
  - {name: system, dir: "{{ .root }}/defaults"}
  - {name: environments, dir: "{{ .root }}/environments/{{ .environment }}"}
  - {name: tenant, dir: "{{ .root }}/tenants/{{ .tenant }}/defaults"}
  - {name: environment, dir: "{{ .root }}/tenants/{{ .tenant }}/environments/{{ .environment }}"}
  - {name: cluster, dir: "{{ .root }}/tenants/{{ .tenant }}/clusters/{{ .cluster }}"}
`)
	}
	return b.String()
}

// applicationSetFiles writes the fleet's ApplicationSets: one for all components with the same
// blueprint.
func (m *importer) applicationSetFiles(w *writer, components map[string][]*application) error {
	sharing := map[string][]string{}
	templates := m.templates(components)
	blueprints, stepped := map[string]blueprint{}, map[*applicationSet]map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(components)) {
		b, err := m.blueprintOf(components[name], templates)
		if err != nil {
			return err
		}
		for _, a := range components[name] {
			if !verify.Equal(policyOf(a.set.tree), b.policy) || !verify.Equal(wavesOf(a.set.tree), b.waves) {
				m.report(a.set.pos, a.set.subject(), fmt.Sprintf("its strategy, policy or sync wave differs from %s, which counts for component %q", components[name][0].set.subject(), name))
				break
			}
		}
		key := string(manifest.Canonical([]any{b.template, b.patch, b.policy, b.waves}))
		blueprints[key], sharing[key] = b, append(sharing[key], name)
		for _, a := range components[name] {
			if manifest.At(a.set.tree, "spec", "strategy", "rollingSync") != nil {
				if stepped[a.set] == nil {
					stepped[a.set] = map[string]bool{}
				}
				stepped[a.set][key] = true
			}
		}
	}
	for set, keys := range stepped {
		if len(keys) > 1 {
			m.report(set.pos, set.subject(), "its rollout steps order components, which the fleet has in several ApplicationSets: they hold only within each one",
				"dependsOn of a catalog entry orders components")
		}
	}
	for key, names := range sharing {
		name := m.o.Group + "-" + names[0]
		if len(sharing) == 1 {
			name, names = m.o.Group, names[:1]
		}
		var generators []any
		for _, component := range names {
			parameters := tree{"view": "components", "group": m.o.Group, "component": component}
			if len(sharing) == 1 {
				delete(parameters, "component")
			}
			generators = append(generators, tree{"plugin": tree{"configMapRef": tree{"name": pluginConfiguration}, "input": tree{"parameters": parameters}}})
		}
		b := blueprints[key]
		spec := tree{"goTemplate": true, "goTemplateOptions": []any{"missingkey=error"}, "generators": generators, "template": b.template, "templatePatch": b.patch}
		maps.Copy(spec, b.policy)
		metadata := tree{"name": name, "namespace": m.namespace}
		if len(b.waves) > 0 {
			metadata["annotations"] = b.waves
		}
		w.tree(fmt.Sprintf("fleet/bootstrap/%s/%s.yaml", m.o.Hub, name), "", tree{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": metadata, "spec": spec})
	}
	return nil
}

// invalid returns an error of the fleet that was written.
func (m *importer) invalid(found []problem.Problem) error {
	p := found[0]
	return m.fail(problem.Pos{}, "the fleet that would be written", p.Error())
}

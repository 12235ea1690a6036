package kustomize

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/kustomize/v5/commands/edit"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// known are the options of an Application's source.kustomize that are followed.
var known = []string{
	"namePrefix", "nameSuffix", "images", "replicas", "commonLabels", "forceCommonLabels", "labelWithoutSelector", "labelIncludeTemplates",
	"commonAnnotations", "forceCommonAnnotations", "commonAnnotationsEnvsubst", "namespace", "patches", "components",
}

// change writes a folder's kustomization as the options of an Application change it: Argo CD calls
// `kustomize edit` for each, in this order, and appends patches (v2.14.21 and v3.6.1,
// util/kustomize/kustomize.go, Build).
func (t tree) change(dir string, options manifest.Tree) error {
	file := t.fileOf(dir)
	if file == "" || len(options) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if !slices.Contains(known, key) {
			return source.NotFollowed{Text: fmt.Sprintf("option %s of kustomize is not followed", key)}
		}
	}
	data, _, err := t.data(file)
	if err != nil {
		return err
	}
	files, name := filesys.MakeFsInMemory(), path.Base(file)
	if err := files.WriteFile(name, data); err != nil {
		return err
	}
	for _, args := range edits(options) {
		if i := slices.IndexFunc(args, func(arg string) bool { return strings.Contains(arg, "$ARGOCD_APP_REVISION") }); i >= 0 {
			return source.NotFollowed{Text: fmt.Sprintf("%q of the options of kustomize is not followed: only Argo CD knows its commit", args[i])}
		}
		library := provider.NewDefaultDepProvider()
		cmd := edit.NewCmdEdit(files, library.GetFieldValidator(), library.GetResourceFactory(), io.Discard)
		cmd.SetArgs(args)
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err != nil {
			return fmt.Errorf("kustomize edit %s: %w", strings.Join(args, " "), err)
		}
	}
	if data, err = files.ReadFile(name); err != nil {
		return err
	}
	t.written[file], err = withLists(data, options)
	return err
}

// edits returns the arguments of `kustomize edit`.
func edits(options manifest.Tree) (out [][]string) {
	is := func(key string) bool { return options[key] == true }
	text := func(key, field string) {
		if value := manifest.Text(options, key); value != "" {
			out = append(out, []string{"set", field, "--", value})
		}
	}
	metadata := func(key, field string, flags ...string) {
		of, _ := options[key].(manifest.Tree)
		args := append([]string{"add", field}, flags...)
		for _, name := range slices.Sorted(maps.Keys(of)) {
			args = append(args, fmt.Sprintf("%s:%v", name, of[name]))
		}
		if len(of) > 0 {
			out = append(out, args)
		}
	}
	flags := func(all map[string]string) (out []string) {
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if is(key) {
				out = append(out, all[key])
			}
		}
		return out
	}
	text("namePrefix", "nameprefix")
	text("nameSuffix", "namesuffix")
	if images := manifest.Strings(options["images"]); len(images) > 0 {
		out = append(out, append([]string{"set", "image"}, images...))
	}
	if replicas, _ := options["replicas"].([]any); len(replicas) > 0 {
		args := []string{"set", "replicas"}
		for _, r := range replicas {
			args = append(args, fmt.Sprintf("%s=%v", manifest.Text(r, "name"), manifest.At(r, "count")))
		}
		out = append(out, args)
	}
	metadata("commonLabels", "label", flags(map[string]string{"forceCommonLabels": "--force", "labelWithoutSelector": "--without-selector", "labelIncludeTemplates": "--include-templates"})...)
	metadata("commonAnnotations", "annotation", flags(map[string]string{"forceCommonAnnotations": "--force"})...)
	text("namespace", "namespace")
	return out
}

// withLists appends the patches and components of options to those of a kustomization. A component
// that it has is not added again.
func withLists(data []byte, options manifest.Tree) ([]byte, error) {
	patches, _ := options["patches"].([]any)
	components := manifest.Strings(options["components"])
	if len(patches)+len(components) == 0 {
		return data, nil
	}
	k := map[string]any{"kind": "Kustomization"} // of an empty file, too
	if err := yaml.Unmarshal(data, &k); err != nil {
		return nil, err
	}
	if len(patches) > 0 {
		had, _ := k["patches"].([]any)
		k["patches"] = append(had, patches...)
	}
	for _, c := range components {
		if had, _ := k["components"].([]any); !slices.Contains(manifest.Strings(k["components"]), c) {
			k["components"] = append(had, c)
		}
	}
	return yaml.Marshal(k)
}

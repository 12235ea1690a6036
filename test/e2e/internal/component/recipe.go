package component

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A recipe is what a component needs beyond `go build tool`. It is part of the cache's key (C2).
type recipe struct {
	Rename  map[string]string // the name go build gives a command → the one it is known by
	Files   []files           // C5
	Version []stamp           // C6
	Overlay string            `json:",omitempty"` // C8: the path of the module
}

// files are copied out of a module.
type files struct {
	Module string // its path
	Glob   string // in the module
	Exclude,
	To string // a directory beside the commands
}

// A stamp gives variables of the linked program a module's version.
type stamp struct {
	Module    string
	Variables map[string]string // path of the variable → text with {version}, {bare} (without v), {major}, {minor}
}

// recipes by component. Modules' own release builds set the same variables: Kubernetes'
// hack/lib/version.sh, Argo CD's and Helm's Makefile.
var recipes = map[string]recipe{
	"etcd": {
		Rename: map[string]string{"server": "etcd"},
	},
	"kubernetes": {
		Version: []stamp{{Module: "k8s.io/kubernetes", Variables: map[string]string{
			"k8s.io/component-base/version.gitVersion":   "{version}",
			"k8s.io/component-base/version.gitMajor":     "{major}",
			"k8s.io/component-base/version.gitMinor":     "{minor}",
			"k8s.io/component-base/version.gitCommit":    "",
			"k8s.io/component-base/version.gitTreeState": "archive",
			"k8s.io/client-go/pkg/version.gitVersion":    "{version}",
		}}},
	},
	"kwok": {
		Version: []stamp{{Module: "sigs.k8s.io/kwok", Variables: map[string]string{
			"sigs.k8s.io/kwok/pkg/consts.Version": "{bare}",
		}}},
	},
	"kro": {
		Rename: map[string]string{"controller": "kro"},
		Files:  []files{{Module: "github.com/kubernetes-sigs/kro", Glob: "helm/crds/*.yaml", To: "crds"}},
	},
	"crossplane": {
		Files: []files{
			{Module: "github.com/crossplane/crossplane", Glob: "cluster/crds/*.yaml", To: "crds"},
			{Module: "github.com/crossplane/crossplane", Glob: "cluster/webhookconfigurations/*.yaml", To: "webhooks"},
			{Module: "github.com/crossplane/crossplane", Glob: "cluster/charts/crossplane/*.yaml", To: "chart"},
			{Module: "github.com/crossplane/crossplane", Glob: "cluster/charts/crossplane/templates/*", To: "chart/templates"},
		},
		Version: []stamp{{Module: "github.com/crossplane/crossplane", Variables: map[string]string{
			"github.com/crossplane/crossplane/internal/version.version": "{version}",
		}}},
	},
	"crossplane-function": { // its package is made of these
		Files: []files{
			{Module: "github.com/crossplane-contrib/function-patch-and-transform", Glob: "package/crossplane.yaml", To: "package"},
			{Module: "github.com/crossplane-contrib/function-patch-and-transform", Glob: "package/input/*.yaml", To: "package"},
		},
	},
	"kyverno": { // releases tell their version by their images' tags
		Files: []files{{Module: "github.com/kyverno/kyverno", Glob: "config/crds/*/*.yaml", To: "crds"}},
	},
	"argocd-2.14": argocd("v2", "v3"),
	"argocd-3.5":  argocd("v3", "v4"), // the first that has no Helm 3
	"argocd-3.6":  argocd("v3", "v4"),
	"external-secrets": {
		Files: []files{{
			Module: "github.com/external-secrets/external-secrets",
			Glob:   "config/crds/bases/*.yaml", Exclude: "kustomization.yaml", To: "crds",
		}},
		Overlay: "github.com/external-secrets/external-secrets",
	},
	"opentofu": { // has its version in a file, and a suffix -dev unless a release is built
		Version: []stamp{{Module: "github.com/opentofu/opentofu", Variables: map[string]string{
			"github.com/opentofu/opentofu/version.dev": "no",
		}}},
	},
	"sealed-secrets": {
		Rename:  map[string]string{"controller": "sealed-secrets-controller"},
		Files:   []files{{Module: "github.com/bitnami-labs/sealed-secrets", Glob: "helm/sealed-secrets/crds/*.yaml", To: "crds"}},
		Version: []stamp{{Module: "github.com/bitnami-labs/sealed-secrets", Variables: map[string]string{"main.VERSION": "{bare}"}}},
	},
	"flux-operator": {
		Rename: map[string]string{"operator": "flux-operator"},
		Files: []files{
			{Module: fluxOperator, Glob: "config/crd/bases/*.yaml", To: "crds"},
			{Module: fluxOperator, Glob: "config/rbac/*.yaml", To: "rbac"},
		},
		Version: []stamp{{Module: fluxOperator, Variables: map[string]string{"main.VERSION": "{version}"}}},
		Overlay: fluxOperator, // without its web server's files, which the module lacks
	},
	"flux": { // has no variable for its version: releases tell it by their images' tags
		Files: slices.Concat(flux("source-controller"), flux("kustomize-controller"), flux("helm-controller")),
	},
}

const fluxOperator = "github.com/controlplaneio-fluxcd/flux-operator"

// flux are the files with the kinds of one of Flux's controllers.
func flux(controller string) []files {
	return []files{{
		Module: "github.com/fluxcd/" + controller,
		Glob:   "config/crd/bases/*.yaml", Exclude: "kustomization.yaml", To: "crds",
	}}
}

// argocd is a release of Argo CD with the helm command that its repo-server calls.
func argocd(major, helmMajor string) recipe {
	module, helm := "github.com/argoproj/argo-cd/"+major, "helm.sh/helm/"+helmMajor
	return recipe{
		Rename: map[string]string{"cmd": "argocd"},
		Files:  []files{{Module: module, Glob: "manifests/crds/*.yaml", Exclude: "kustomization.yaml", To: "crds"}},
		Version: []stamp{
			{Module: module, Variables: map[string]string{module + "/common.version": "{bare}"}},
			{Module: helm, Variables: map[string]string{helm + "/internal/version.version": "{version}"}},
		},
	}
}

// String is the recipe's part of the key: JSON, as it sorts maps.
func (r recipe) String() string {
	text, err := json.Marshal(r)
	if err != nil { // strings alone cannot fail
		return err.Error()
	}
	return string(text)
}

// ldflags for a module file's versions. go.mod is asked, for go list would need the module cache
// before anything was downloaded.
func (r recipe) ldflags(m modFile) (string, error) {
	flags := []string{"-s", "-w"}
	for _, s := range r.Version {
		version, ok := m.version(s.Module)
		if !ok {
			return "", fmt.Errorf("go.mod does not require %s, whose version the commands are to tell", s.Module)
		}
		bare := strings.TrimPrefix(version, "v")
		numbers := strings.SplitN(bare, ".", 3)
		if len(numbers) != 3 {
			return "", fmt.Errorf("go.mod requires %s %s: expected a version like v1.2.3", s.Module, version)
		}
		text := strings.NewReplacer("{version}", version, "{bare}", bare, "{major}", numbers[0], "{minor}", numbers[1])
		for _, variable := range sortedKeys(s.Variables) {
			flags = append(flags, "-X", variable+"="+text.Replace(s.Variables[variable]))
		}
	}
	return strings.Join(flags, " "), nil
}

// copyFiles copies what matches out of a module's directory.
func (f files) copyFiles(module, to string) error {
	found, err := filepath.Glob(filepath.Join(module, filepath.FromSlash(f.Glob)))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("no file of the module is named %s", f.Glob)
	}
	dir := filepath.Join(to, f.To)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, path := range found {
		if filepath.Base(path) == f.Exclude {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Package kubectl runs those commands of kubectl that the documents of operation show, on an API
// server, where there is no kubectl. Anything else is an error.
//
//	kubectl [--namespace N] get KINDS [NAME...] [--selector S] --output yaml > FILE
//	kubectl [--namespace N] delete KINDS (NAME... | --selector S | --all) [--cascade=orphan]
//	kubectl [--namespace N] replace --force --filename FILE
//	kubectl create namespace N
package kubectl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// resources by the names that the documents use.
var resources = map[string]schema.GroupVersionResource{
	"application": kube.Applications, "applications": kube.Applications, "applicationsets": kube.ApplicationSets,
	"configmaps": kube.ConfigMaps, "secrets": kube.Secrets, "deployments": kube.Deployments,
	"services":             {Version: "v1", Resource: "services"},
	"serviceaccounts":      {Version: "v1", Resource: "serviceaccounts"},
	"namespace":            {Version: "v1", Resource: "namespaces"},
	"roles":                {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	"rolebindings":         {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	"networkpolicies":      {Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
	"poddisruptionbudgets": {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

// command is a parsed one.
type command struct {
	verb             string
	kinds, names     []string
	namespace        string
	selector, output string
	filename, into   string
	all, orphan      bool
}

// Run runs a command in a folder. What it prints is named in the result, as kubectl does.
func Run(ctx context.Context, client *kube.Client, dir, text string) ([]string, error) {
	c, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	var out []string
	switch c.verb {
	case "get":
		err = c.get(ctx, client, filepath.Join(dir, c.into))
	case "delete":
		out, err = c.remove(ctx, client)
	case "replace":
		err = replace(ctx, client, c.namespace, filepath.Join(dir, c.filename))
	case "create":
		err = client.Namespace(ctx, c.names[0])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return out, nil
}

func parse(text string) (command, error) {
	c := command{namespace: metav1.NamespaceDefault}
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != "kubectl" {
		return c, errors.New("expected kubectl")
	}
	for i := 1; i < len(words); i++ {
		value := func() string {
			i++
			if i >= len(words) {
				return ""
			}
			return strings.Trim(words[i], "'")
		}
		switch w := words[i]; {
		case w == "--namespace":
			c.namespace = value()
		case w == "--selector":
			c.selector = value()
		case w == "--output":
			c.output = value()
		case w == "--filename":
			c.filename = value()
		case w == ">":
			c.into = value()
		case w == "--force": // replace is always meant so
		case w == "--all":
			c.all = true
		case w == "--cascade=orphan":
			c.orphan = true
		case strings.HasPrefix(w, "-"):
			return c, fmt.Errorf("option %s is not one of these here", w)
		case c.verb == "":
			c.verb = w
		case c.kinds == nil && c.verb != "replace":
			c.kinds = strings.Split(w, ",")
		default:
			c.names = append(c.names, w)
		}
	}
	switch c.verb {
	case "get":
		if c.output != "yaml" || c.into == "" {
			return c, errors.New("expected --output yaml > FILE")
		}
	case "delete":
		if len(c.names) == 0 && c.selector == "" && !c.all {
			return c, errors.New("expected names, --selector or --all")
		}
	case "replace":
		if c.filename == "" {
			return c, errors.New("expected --filename")
		}
	case "create":
		if !slices.Equal(c.kinds, []string{"namespace"}) || len(c.names) != 1 {
			return c, errors.New("expected namespace NAME")
		}
	default:
		return c, fmt.Errorf("verb %q is not one of these here", c.verb)
	}
	for _, k := range c.kinds {
		if resources[k].Resource == "" {
			return c, fmt.Errorf("kind %q is not one of these here", k)
		}
	}
	return c, nil
}

// objects are those that a command names, of a kind.
func (c command) objects(ctx context.Context, client *kube.Client, kind string) ([]*unstructured.Unstructured, error) {
	r := resources[kind]
	if kind == "namespace" {
		c.namespace = ""
	}
	if len(c.names) == 0 {
		found, err := client.List(ctx, r, c.namespace, c.selector)
		return slices.Collect(maps.Values(found)), err
	}
	var out []*unstructured.Unstructured
	for _, name := range c.names {
		o, err := client.Get(ctx, r, c.namespace, name)
		if err != nil {
			return nil, err
		}
		if o == nil {
			return nil, fmt.Errorf("%s %q not found", r.GroupResource(), name)
		}
		out = append(out, o)
	}
	return out, nil
}

func (c command) get(ctx context.Context, client *kube.Client, file string) error {
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	var items []any
	for _, kind := range c.kinds {
		objects, err := c.objects(ctx, client, kind)
		if err != nil {
			return err
		}
		for _, o := range objects {
			items = append(items, o.Object)
		}
	}
	list["items"] = items
	text, err := yaml.Marshal(list)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func (c command) remove(ctx context.Context, client *kube.Client) (out []string, err error) {
	policy := metav1.DeletePropagationBackground
	if c.orphan {
		policy = metav1.DeletePropagationOrphan
	}
	for _, kind := range c.kinds {
		objects, err := c.objects(ctx, client, kind)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if err := client.Delete(ctx, resources[kind], o.GetNamespace(), o.GetName(), policy); err != nil {
				return nil, err
			}
			out = append(out, kind+" "+o.GetName())
		}
	}
	slices.Sort(out)
	return out, nil
}

// replace creates what a file has anew, as kubectl does: without the versions of another cluster.
func replace(ctx context.Context, client *kube.Client, namespace, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var list unstructured.UnstructuredList
	if err := yaml.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, o := range list.Items {
		o.SetResourceVersion("")
		o.SetUID("")
		o.SetManagedFields(nil)
		for _, kind := range resources {
			if kind.Resource != strings.ToLower(o.GetKind())+"s" {
				continue
			}
			if err := client.Delete(ctx, kind, namespace, o.GetName(), metav1.DeletePropagationBackground); err != nil {
				return err
			}
		}
		if err := client.ApplyObject(ctx, namespace, &o); err != nil {
			return err
		}
	}
	return nil
}

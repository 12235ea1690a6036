package plugin

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// pod is a Deployment's, with folders for its volumes (rule 1).
type pod struct {
	namespace string
	spec      corev1.PodSpec
	service   container
	labels    map[string]string
	dir       string // of the volumes
}

// container is a pod's.
type container struct {
	corev1.Container
	folders map[string]string // of the container's -> here
}

func newPod(deployment *unstructured.Unstructured, namespace, dir string) (pod, error) {
	template, _, err := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
	if err != nil {
		return pod{}, err
	}
	labels, _, err := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
	if err != nil {
		return pod{}, err
	}
	p := pod{namespace: namespace, dir: dir, labels: labels}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &p.spec); err != nil {
		return pod{}, err
	}
	if len(p.spec.Containers) != 1 || p.spec.Containers[0].Name != release {
		return pod{}, fmt.Errorf("%d containers; expected %s alone", len(p.spec.Containers), release)
	}
	p.service = p.container(p.spec.Containers[0])
	return p, nil
}

func (p pod) container(c corev1.Container) container {
	out := container{c, map[string]string{}}
	for _, m := range c.VolumeMounts {
		out.folders[m.MountPath] = p.volume(m.Name)
	}
	return out
}

// volume is the folder that stands for a volume.
func (p pod) volume(name string) string { return filepath.Join(p.dir, name) }

// mount makes the folders, and writes into them what Secrets and ConfigMaps hold now. One that is
// not there is an error.
func (p pod) mount(ctx context.Context, client *kube.Client) error {
	for _, v := range p.spec.Volumes {
		if err := os.MkdirAll(p.volume(v.Name), 0o700); err != nil {
			return err
		}
		var err error
		switch {
		case v.Secret != nil:
			if err = p.fill(ctx, client, v.Name, kube.Secrets, v.Secret.SecretName, v.Secret.Items); errors.Is(err, errMissing) && v.Secret.Optional != nil && *v.Secret.Optional {
				err = nil
			}
		case v.ConfigMap != nil:
			err = p.fill(ctx, client, v.Name, kube.ConfigMaps, v.ConfigMap.Name, v.ConfigMap.Items)
		case v.EmptyDir == nil:
			err = fmt.Errorf("volume %s: expected a Secret, a ConfigMap or an emptyDir", v.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errMissing is that of a Secret or ConfigMap that is not there.
var errMissing = errors.New("there are no")

// fill writes an object's keys, or those that items name, into a volume's folder, each at once.
func (p pod) fill(ctx context.Context, client *kube.Client, volume string, r schema.GroupVersionResource, name string, items []corev1.KeyToPath) error {
	o, err := client.Get(ctx, r, p.namespace, name)
	if err != nil {
		return err
	}
	if o == nil {
		return fmt.Errorf("volume %s: %w %s %s", volume, errMissing, r.Resource, name)
	}
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		return err
	}
	if items == nil {
		for _, k := range slices.Sorted(maps.Keys(data)) {
			items = append(items, corev1.KeyToPath{Key: k, Path: k})
		}
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			return fmt.Errorf("volume %s: %s %s has no key %s", volume, r.Resource, name, item.Key)
		}
		text := []byte(value)
		if r == kube.Secrets {
			if text, err = base64.StdEncoding.DecodeString(value); err != nil {
				return fmt.Errorf("volume %s: %s %s: %s: %w", volume, r.Resource, name, item.Key, err)
			}
		}
		file := filepath.Join(p.volume(volume), item.Path)
		if had, err := os.ReadFile(file); err == nil && bytes.Equal(had, text) {
			continue
		}
		if err := os.WriteFile(file+".new", text, 0o600); err != nil {
			return err
		}
		if err := os.Rename(file+".new", file); err != nil {
			return err
		}
	}
	return nil
}

// args are the container's, with the folders that stand for its own.
func (c container) args() []string {
	out := make([]string, len(c.Args))
	for i, a := range c.Args {
		out[i] = c.local(a)
	}
	return out
}

// env is the container's environment.
func (c container) env() []string {
	var out []string
	for _, e := range c.Env {
		out = append(out, e.Name+"="+c.local(e.Value))
	}
	return out
}

// local is a text with the folders in place of the container's paths.
func (c container) local(text string) string {
	var pairs []string
	for _, mount := range slices.Backward(slices.Sorted(maps.Keys(c.folders))) { // the longer path first
		pairs = append(pairs, mount, c.folders[mount])
	}
	return strings.NewReplacer(pairs...).Replace(text) // once: a folder here may be below /tmp, which is a volume there
}

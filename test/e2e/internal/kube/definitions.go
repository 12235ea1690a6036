package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CustomResourceDefinitions is the kind of what Define makes.
var CustomResourceDefinitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Define makes the custom resource definitions in a folder's YAML files, and returns when all of
// them are served. They are created, and applied only if they are there already: with a megabyte of
// schema, applying takes the API server twice as long. None converts between versions, as no
// webhook runs here.
func (c *Client) Define(ctx context.Context, dir string) error {
	return c.eachDefinition(ctx, dir, c.define)
}

// Defined returns when all custom resources that are defined in a folder's YAML files are served,
// whatever made them.
func (c *Client) Defined(ctx context.Context, dir string) error {
	return c.eachDefinition(ctx, dir, func(context.Context, *unstructured.Unstructured) error { return nil })
}

// eachDefinition does something with each definition in a folder's YAML files, and returns when all
// of them are served.
func (c *Client) eachDefinition(ctx context.Context, dir string, do func(context.Context, *unstructured.Unstructured) error) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: expected definitions of custom resources, found no YAML file", dir)
	}
	kinds := make([][]schema.GroupVersionKind, len(files))
	errs := make([]error, len(files))
	busy := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for i, file := range files {
		wg.Go(func() {
			busy <- struct{}{}
			defer func() { <-busy }()
			if kinds[i], errs[i] = eachOf(ctx, file, do); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", file, errs[i])
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, served := range kinds {
		for _, kind := range served {
			if _, err := c.resource(ctx, kind, "", nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachOf does something with each definition of a file, and returns the kinds that are defined.
func eachOf(ctx context.Context, file string, do func(context.Context, *unstructured.Unstructured) error) ([]schema.GroupVersionKind, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	objects, err := Decode(text)
	if err != nil {
		return nil, err
	}
	var kinds []schema.GroupVersionKind
	for _, o := range objects {
		kind, err := defined(o)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
		if err := do(ctx, o); err != nil {
			return nil, err
		}
	}
	return kinds, nil
}

// define makes a definition, or changes the one that is there.
func (c *Client) define(ctx context.Context, o *unstructured.Unstructured) error {
	unstructured.RemoveNestedField(o.Object, "spec", "conversion")
	_, err := c.Dynamic.Resource(CustomResourceDefinitions).Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		err = c.ApplyObject(ctx, "", o)
	}
	return err
}

// defined is the kind that a definition makes, in a version that is served.
func defined(o *unstructured.Unstructured) (schema.GroupVersionKind, error) {
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		if served, _ := version["served"].(bool); served && o.GetKind() == "CustomResourceDefinition" {
			return schema.GroupVersionKind{Group: group, Version: name, Kind: kind}, nil
		}
	}
	return schema.GroupVersionKind{}, fmt.Errorf("%s %s: expected a CustomResourceDefinition with a version that is served", o.GetKind(), o.GetName())
}

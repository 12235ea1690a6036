// Package testcluster is a cluster for the time of a test, for packages that need one and no hub.
package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// Cluster is a control plane, and what it was made of.
type Cluster struct {
	*controlplane.Cluster
	Client   *kube.Client
	Binaries component.Binaries // with the components that were asked for
	Group    *process.Group     // ends with the test
	Dir      string             // goes with the test

	options controlplane.Options
	etcd    *controlplane.Etcd
}

// Start starts a control plane, and builds it and other components before if need be.
func Start(t *testing.T, components ...string) *Cluster {
	t.Helper()
	return StartNamed(t, []string{"one"}, components...)[0]
}

// StartNamed starts several control planes side by side, in the order of their names, which share
// all but API servers.
func StartNamed(t *testing.T, names []string, components ...string) []*Cluster {
	t.Helper()
	root, err := moduleFolder("components")
	if err != nil {
		t.Fatal(err)
	}
	binaries, err := component.Build(t.Context(), component.Options{
		Root: root, Progress: func(line string) { t.Log(line) },
	}, append([]string{"etcd", "kubernetes", "kwok"}, components...)...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := controlplane.Options{Binaries: binaries, Group: process.NewGroup(filepath.Join(dir, "log")), Dir: dir}
	t.Cleanup(func() {
		if err := o.Group.Stop(); err != nil {
			t.Error(err)
		}
	})
	etcd, err := controlplane.StartEtcd(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	clusters, errs := make([]*Cluster, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			clusters[i], errs[i] = start(t.Context(), o, etcd, name)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return clusters
}

// Beside starts one more control plane, which shares all but the API server with this one.
func (c *Cluster) Beside(t *testing.T, name string) *Cluster {
	t.Helper()
	more, err := start(t.Context(), c.options, c.etcd, name)
	if err != nil {
		t.Fatal(err)
	}
	return more
}

func start(ctx context.Context, o controlplane.Options, etcd *controlplane.Etcd, name string) (*Cluster, error) {
	cluster, err := controlplane.Start(ctx, o, etcd, name)
	if err != nil {
		return nil, err
	}
	client, err := kube.New(cluster.Config())
	return &Cluster{Cluster: cluster, Client: client, Binaries: o.Binaries, Group: o.Group, Dir: o.Dir, options: o, etcd: etcd}, err
}

// moduleFolder is a folder of the module that the test's package, the working directory, is in.
func moduleFolder(name string) (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, name), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the module's folder %s: %s is in no module: expected the folder of a test's package", name, start)
		}
	}
}

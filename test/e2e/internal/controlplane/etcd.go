package controlplane

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// Etcd keeps the objects of any number of clusters.
type Etcd struct {
	URL     string
	Process *process.Process
}

// StartEtcd starts one etcd server; its data is below o.Dir.
func StartEtcd(ctx context.Context, o Options) (*Etcd, error) {
	path, err := o.Binaries.Find("etcd")
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	dir, err := directory(o.Dir, "etcd")
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	client, peer := local("http", ports[0]), local("http", ports[1])
	p, err := o.Group.Start(ctx, process.Spec{
		Name: "etcd",
		Path: path,
		Args: []string{
			"--name=etcd",
			"--data-dir=" + filepath.Join(dir, "data"),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=etcd=" + peer,
			"--unsafe-no-fsync",
			"--election-timeout=500", // ms; even the only member waits as long before it elects itself
			"--log-level=warn",
		},
		Ports:       ports,
		Ready:       process.WaitHTTP(client+"/readyz", nil),
		StopTimeout: stopTimeout,
	})
	if err != nil {
		return nil, err
	}
	return &Etcd{URL: client, Process: p}, nil
}

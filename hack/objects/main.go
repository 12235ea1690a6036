// Command objects writes, as JSON, all objects that the Applications of a repository without a
// fleet deploy, as a plan compares them, and the problems of what is not followed.
//
//	go run ./hack/objects [--clusters FILE] [--repository URL=DIR] DIR
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/argocd"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/migrate/existing"
	"github.com/argosy-hub/argosy/internal/source"
)

// deployed is an object, and the Application that deploys it, if one does.
type deployed struct {
	By     string        `json:"by"`
	Object manifest.Tree `json:"object"`
}

type output struct {
	Objects  []deployed `json:"objects"`
	Problems []string   `json:"problems"`
}

func main() {
	var from existing.Source
	add := func(to *[]string) func(string) error {
		return func(text string) error { *to = append(*to, text); return nil }
	}
	flag.Func("clusters", "a file of cluster Secrets", add(&from.Clusters))
	flag.Func("repository", "another repository: URL=DIR", add(&from.Repositories))
	kube := flag.String("kube-version", helm.KubeVersion, "the clusters' version")
	apis := flag.String("apis", "", "APIs of the clusters, with commas")
	flag.Parse()
	out, err := objects(context.Background(), flag.Arg(0), from, expand.Options{KubeVersion: *kube, APIVersions: strings.Split(*apis, ",")})
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "objects:", err)
		os.Exit(1)
	}
}

func objects(ctx context.Context, dir string, from existing.Source, o expand.Options) (out output, err error) {
	snap, err := pipeline.Repository{Location: dir}.Snapshot(ctx, source.Limits{Charts: true, AnyName: true})
	if err != nil {
		return out, err
	}
	o.Hub, o.HasNoFleet = pipeline.StandInHub(snap), true
	o.Snapshot = pipeline.WithStandIn(snap, o.Hub)
	if o.State, err = fleetstate.Build(nil, o.Snapshot, facts.Set{}); err != nil {
		return out, err
	}
	if o.Clusters, err = from.ReadClusters(ctx); err != nil {
		return out, err
	}
	others, err := from.Open(ctx)
	if err != nil {
		return out, err
	}
	o.Other = func(repoURL, revision string) (*snapshot.Snapshot, string) {
		if others.Known(repoURL, "") == nil {
			return nil, ""
		}
		s, err := others.Open(repoURL, revision)
		if err != nil {
			return nil, err.Error()
		}
		return s, ""
	}
	o.Tools = expand.Tools{ApplicationSets: argocd.New(), Charts: helm.New(), Kustomizations: kustomize.Kustomizations{}}
	h := expand.New(o)
	h.Walk(true, func(x *object.Object) bool {
		by := ""
		if x.Parent != nil && x.Parent.Application() {
			by = x.Parent.Name()
		}
		out.Objects = append(out.Objects, deployed{by, x.Tree})
		return true
	})
	for _, p := range h.Problems() {
		out.Problems = append(out.Problems, fmt.Sprintf("%s: %s", p.Severity, p.Error()))
	}
	return out, nil
}

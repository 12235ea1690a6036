package existing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
	"github.com/argosy-hub/argosy/internal/source"
)

// hubTimeout bounds how long a live hub takes to list its objects.
const hubTimeout = time.Minute

// ReadApplicationSets reads the ApplicationSets of exported files, and with isLive of the hub.
// Without both it returns none, which stands for the repository's ApplicationSets.
func (s *Source) ReadApplicationSets(ctx context.Context, exported []string, isLive bool) ([]*snapshot.File, error) {
	out, err := readFiles("applicationsets", exported)
	switch {
	case err != nil || !isLive:
		return out, err
	case s.Context == "":
		return nil, problem.Usage([]string{"--context names the hub"}, "--live without --context")
	}
	objects, err := s.objects(ctx, hub.ApplicationSetsOf)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		name := s.Context + "/" + manifest.Text(o.Tree, "metadata", "name") + ".json"
		out = append(out, snapshot.NewFile(name, manifest.Canonical(o.Tree), snapshot.MaxFileSize))
	}
	return out, nil
}

// ReadApplications reads the Applications of an exported file or folder, or else of the hub.
func (s *Source) ReadApplications(ctx context.Context, exported string) ([]verify.Live, error) {
	if exported == "" {
		return s.objects(ctx, hub.ApplicationsOf)
	}
	files, err := exportedFiles(ctx, exported)
	if err != nil {
		return nil, err
	}
	var out []verify.Live
	for _, file := range files {
		found, err := verify.ReadApplications(file)
		if err != nil {
			return nil, problem.Usage(nil, "--against: %w", err)
		}
		out = append(out, found...)
	}
	if len(out) == 0 {
		return nil, problem.Usage([]string{"kubectl get applications -n argocd -o yaml"}, "--against %s: no Application in it", exported)
	}
	return out, nil
}

// exportedFiles returns a file, or the manifests of a folder.
func exportedFiles(ctx context.Context, name string) (out []*snapshot.File, err error) {
	switch info, err := os.Stat(name); {
	case err != nil:
		return nil, problem.Usage(nil, "--against: %w", err)
	case !info.IsDir():
		return readFiles("against", []string{name})
	}
	folder, err := pipeline.Repository{Location: name, Flag: "--against"}.Snapshot(ctx, source.Limits{Charts: true, FileSize: maxFile})
	if err != nil {
		return nil, err
	}
	for _, p := range folder.Paths() {
		if manifest.IsFile(p) {
			out = append(out, folder.File(p))
		}
	}
	return out, nil
}

// objects lists objects of Argo CD on the hub.
func (s *Source) objects(ctx context.Context, resource string) ([]verify.Live, error) {
	var objects []json.RawMessage
	err := s.ask(ctx, func(ctx context.Context, o hub.Options) (err error) {
		objects, err = hub.Objects(ctx, o, resource)
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []verify.Live
	for _, data := range objects {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var tree manifest.Tree
		if err := dec.Decode(&tree); err != nil {
			return nil, problem.Usage(nil, "%s: %w", resource, err)
		}
		out = append(out, verify.Live{Tree: tree})
	}
	return out, nil
}

// ask reads the live hub of the context within hubTimeout.
func (s *Source) ask(ctx context.Context, read func(context.Context, hub.Options) error) error {
	config, err := hub.LoadContext(s.Kubeconfig, s.Context)
	if err != nil {
		return problem.Usage([]string{s.Failed}, "%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	if err := read(ctx, hub.Options{Config: config, Namespace: s.Namespace}); err != nil {
		return problem.Usage([]string{fmt.Sprintf("the context %s is %s", s.Context, config.Host), "--context and --namespace say where Argo CD is", s.Failed}, "%w", err)
	}
	return nil
}

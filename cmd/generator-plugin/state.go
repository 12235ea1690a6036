package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/server"
	"github.com/argosy-hub/argosy/internal/state"
)

// kubernetesState is the --state of ConfigMaps.
const kubernetesState = "kubernetes"

// ownNamespace is where a pod finds its namespace.
const ownNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// state opens what survives a restart; another source or hub has another. Of facts that do not come from Kubernetes there is
// nothing to be kept: they are there still, or are none.
func (f *flags) state(o *server.Options) error {
	if f.stateDir != "" {
		if err := os.MkdirAll(f.stateDir, 0o700); err != nil {
			return fmt.Errorf("--state-dir: %w", err)
		}
	}
	switch {
	case f.stateIn == kubernetesState:
		config, err := hub.LoadConfig(f.kubeconfig)
		if err != nil {
			return err
		}
		namespace, err := f.namespaceOfState()
		if err != nil {
			return err
		}
		objects, err := hub.NewStateObjects(config, namespace, "argosy-state-"+f.own())
		if err != nil {
			return err
		}
		o.State = state.NewChunked(objects)
		o.FactsState = o.State
	case f.stateDir != "":
		o.StateFile, o.AnswersDir = filepath.Join(f.stateDir, "accepted-"+f.own()+".tar"), filepath.Join(f.stateDir, "answers-"+f.own())
		folder, err := state.NewFolder(filepath.Join(f.stateDir, "facts-"+f.own()))
		if err != nil {
			return fmt.Errorf("--state-dir: %w", err)
		}
		o.FactsState = folder
	}
	if f.facts != kubernetesFacts {
		o.FactsState = nil
	}
	return nil
}

// own tells the state of a source and a hub from that of others.
func (f *flags) own() string {
	location := f.repository.Location
	if dir, err := filepath.Abs(f.repository.Location); err == nil && !strings.Contains(location, ":") {
		location = dir
	}
	sum := sha256.Sum256([]byte(location + "\x00" + f.repository.Ref + "\x00" + f.Hub))
	return hex.EncodeToString(sum[:8])
}

func (f *flags) namespaceOfState() (string, error) {
	if f.stateNamespace != "" {
		return f.stateNamespace, nil
	}
	data, err := os.ReadFile(ownNamespace)
	if namespace := strings.TrimSpace(string(data)); err == nil && namespace != "" {
		return namespace, nil
	}
	return "", errors.New("--state kubernetes: this is no pod: name a namespace by --state-namespace")
}

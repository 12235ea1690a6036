package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/service/server"
)

// kubernetesState is the value of --state for ConfigMaps.
const kubernetesState = "kubernetes"

// ownNamespace is the file with a pod's namespace.
const ownNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// state opens the store of the state that survives a restart. Each source and hub has its own. Only
// facts from Kubernetes are stored, as other facts still exist after a restart.
func (f *flags) state(o *server.Options) error {
	if f.stateDir != "" {
		if err := os.MkdirAll(f.stateDir, 0o700); err != nil {
			return fmt.Errorf("--state-dir: %w", err)
		}
	}
	o.StoreFacts = f.facts == kubernetesFacts
	keys, err := stateKeys(f.stateKeys)
	if err != nil {
		return fmt.Errorf("--state-keys-file: %w", err)
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
		o.Store = store.New(objects, keys...)
	case f.stateDir != "":
		folder, err := store.NewFolder(filepath.Join(f.stateDir, "records-"+f.own()))
		if err != nil {
			return fmt.Errorf("--state-dir: %w", err)
		}
		o.Store = store.New(folder, keys...)
	}
	return nil
}

// minKey is the least length of a key, in bytes.
const minKey = 32

// stateKeys reads the keys that authenticate records, one a line. New records use the first key.
func stateKeys(file string) ([][]byte, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	keys := bytes.Fields(data)
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s is empty; expected a key of at least %d characters on each line", file, minKey)
	}
	for i, key := range keys {
		if len(key) < minKey {
			return nil, fmt.Errorf("%s: key %d has %d characters; expected at least %d (openssl rand -hex 32)", file, i+1, len(key), minKey)
		}
	}
	return keys, nil
}

// own returns the name of the state of a source and a hub. It differs with and without signers, as
// unsigned commits must not be taken for signed ones.
func (f *flags) own() string {
	location := f.repository.Location
	if dir, err := filepath.Abs(f.repository.Location); err == nil && !strings.Contains(location, ":") {
		location = dir
	}
	if f.repository.Signers != "" {
		location += "\x00signed"
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
	return "", errors.New("--state kubernetes: this process is not in a pod: name a namespace by --state-namespace")
}

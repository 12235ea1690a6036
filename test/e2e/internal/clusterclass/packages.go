package clusterclass

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
)

// PackageRegistry serves an empty registry until the context ends, for packages: localhost:PORT.
func PackageRegistry(ctx context.Context) (port int, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("registry of packages: %w", err)
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server := &http.Server{Handler: registry.New(registry.Logger(quiet)), ErrorLog: quiet, ReadHeaderTimeout: 30 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with the context
	context.AfterFunc(ctx, func() { _ = server.Close() })
	at, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("registry of packages: it listens on a %T", listener.Addr())
	}
	return at.Port, nil
}

// PushPackages writes the packages that charts/cluster-crossplane names into a registry: the
// function's, made of its module's files, and those of the provider, with this package's
// definitions and nothing to run (rule 6). Providers are their folder and version,
// "upbound:v1.21.1", function is the function's place and version.
func PushPackages(ctx context.Context, binaries component.Binaries, port int, providers, function string) error {
	all := map[string][]byte{}
	files, err := filepath.Glob(filepath.Join(binaries.Files(crossplaneFunction), "package", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("package of %s: no files of its module (%w)", function, err)
	}
	var text bytes.Buffer
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "---\n%s\n", data)
	}
	all[function] = text.Bytes()
	at, version, _ := strings.Cut(providers, ":")
	all[at+"/provider-family-aws:"+version] = documents(providerMeta("provider-family-aws"), providerConfig())
	for service, kinds := range upjetServices {
		objects := []object{providerMeta("provider-aws-" + service)}
		for _, kind := range kinds {
			objects = append(objects, upjetKinds[kind].definition())
		}
		all[at+"/provider-aws-"+service+":"+version] = documents(objects...)
	}
	for _, place := range slices.Sorted(maps.Keys(all)) {
		if err := push(ctx, fmt.Sprintf("localhost:%d", port), place, all[place]); err != nil {
			return fmt.Errorf("push package %s: %w", place, err)
		}
	}
	return nil
}

func providerMeta(name string) object {
	return object{"apiVersion": "meta.pkg.crossplane.io/v1", "kind": "Provider", "metadata": object{"name": name}, "spec": object{}}
}

// push writes an image of one layer with package.yaml, annotated as Crossplane's own command does.
func push(ctx context.Context, host, place string, text []byte) error {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "package.yaml", Mode: 0o644, Size: int64(len(text))}); err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	if _, err := zip.Write(layer.Bytes()); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	repository, tag, _ := strings.Cut(place, ":")
	at := "http://" + host + "/v2/" + repository
	config, err := json.Marshal(object{"architecture": "amd64", "os": "linux", "config": object{}, "rootfs": object{"type": "layers", "diff_ids": []string{digest(layer.Bytes())}}})
	if err != nil {
		return err
	}
	blob := func(mediaType string, data []byte, annotations map[string]string) object {
		return object{"mediaType": mediaType, "size": len(data), "digest": digest(data), "annotations": annotations}
	}
	const oci = "application/vnd.oci.image."
	manifest, err := json.Marshal(object{
		"schemaVersion": 2, "mediaType": oci + "manifest.v1+json", "config": blob(oci+"config.v1+json", config, nil),
		"layers": []object{blob(oci+"layer.v1.tar+gzip", zipped.Bytes(), map[string]string{"io.crossplane.xpkg": "base"})},
	})
	if err != nil {
		return err
	}
	for _, data := range [][]byte{zipped.Bytes(), config} {
		if err := send(ctx, http.MethodPost, at+"/blobs/uploads/?digest="+digest(data), "application/octet-stream", data); err != nil {
			return err
		}
	}
	return send(ctx, http.MethodPut, at+"/manifests/"+tag, oci+"manifest.v1+json", manifest)
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func send(ctx context.Context, method, url, mediaType string, data []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", mediaType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("%s %s: %s: %s", method, url, response.Status, body)
	}
	return nil
}

package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"
)

// slowness is longer than a command runs without a word.
const slowness = 2700 * time.Millisecond

// apiServer is a command of scripts:
//
//	apiserver DIR KUBECONFIG   an API server with TLS, which lists the objects of DIR/<resource>.yaml
//
// The kubeconfig's contexts are hub, which may read all; no-secrets, no-applications and
// no-applicationsets, which are forbidden to list these; slow, which lists Secrets after slowness;
// untrusted, without the server's certificate; and away, where nothing listens. Of Secrets the
// server gives the metadata alone.
func apiServer(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "apiserver DIR KUBECONFIG")
	dir := ts.MkAbs(args[0])
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		context, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		resource := path.Base(r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		if context == "slow" && resource == "secrets" {
			select {
			case <-time.After(slowness):
			case <-r.Context().Done():
			}
		}
		if context == "no-"+resource {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"%s is forbidden","reason":"Forbidden","code":403}`, resource)
			return
		}
		list := map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}
		var items []any
		if data, err := os.ReadFile(filepath.Join(dir, resource+".yaml")); err == nil {
			var all struct{ Items []any }
			if err := yaml.Unmarshal(data, &all); err != nil {
				log.Print(err)
			}
			items = all.Items
		}
		switch {
		case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
			list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
			for i, o := range items {
				items[i] = map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o.(map[string]any)["metadata"]} //nolint:forcetypeassert // an object
			}
		case resource == "secrets":
			w.WriteHeader(http.StatusNotAcceptable)
			return
		default:
			list["kind"], list["apiVersion"] = "List", "v1"
		}
		list["items"] = append([]any{}, items...)
		_ = json.NewEncoder(w).Encode(list)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	ts.Defer(s.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	config := map[string]any{"apiVersion": "v1", "kind": "Config"}
	var clusters, contexts []any
	for _, name := range []string{"hub", "no-secrets", "no-applications", "no-applicationsets", "slow", "untrusted", "away"} {
		cluster := map[string]any{"server": s.URL + "/" + name, "certificate-authority-data": authority}
		switch name {
		case "untrusted":
			delete(cluster, "certificate-authority-data")
		case "away":
			cluster["server"] = "https://127.0.0.1:1"
		}
		clusters = append(clusters, map[string]any{"name": name, "cluster": cluster})
		contexts = append(contexts, map[string]any{"name": name, "context": map[string]any{"cluster": name}})
	}
	config["clusters"], config["contexts"] = clusters, contexts
	data, err := yaml.Marshal(config)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

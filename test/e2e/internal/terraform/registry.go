package terraform

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"embed"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// modules are stand-ins for modules of the community, by their names below terraform-aws-modules.
//
//go:embed modules
var modules embed.FS

// versions are the versions that the stand-ins are called by.
var versions = map[string]string{"vpc": "6.0.0", "eks": "21.0.0"}

// serveModules serves the stand-ins by the protocol of a module registry, until end is called.
func serveModules(ctx context.Context) (address string, end func(), err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /terraform-aws-modules/{name}/aws/versions", func(w http.ResponseWriter, r *http.Request) {
		version, is := versions[r.PathValue("name")]
		if !is {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"modules":[{"versions":[{"version":%q}]}]}`, version)
	})
	mux.HandleFunc("GET /terraform-aws-modules/{name}/aws/{version}/download", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Terraform-Get", "http://"+r.Host+"/archives/"+r.PathValue("name")+".tar.gz")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /archives/{file}", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(r.PathValue("file"), ".tar.gz")
		text, err := modules.ReadFile("modules/" + name + "/main.tf")
		if err != nil {
			http.NotFound(w, r)
			return
		}
		zipped := gzip.NewWriter(w)
		archive := tar.NewWriter(zipped)
		if err := archive.WriteHeader(&tar.Header{Name: "main.tf", Mode: 0o644, Size: int64(len(text))}); err != nil {
			return
		}
		_, _ = archive.Write(text)
		_, _ = archive.Close(), zipped.Close()
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/", func() { _ = server.Close() }, nil
}

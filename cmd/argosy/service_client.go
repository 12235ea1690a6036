package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// serviceTimeout bounds a request to the service, and maxServiceBody its response.
const (
	serviceTimeout = 30 * time.Second
	maxServiceBody = 16 << 20
)

// serviceFlags name a running service and a token for it.
type serviceFlags struct{ url, tokenFile string }

// add adds the flags to a command that requires them.
func (f *serviceFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "service", "", "the `URL` of the service")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "the `file` with the service's bearer token")
	for _, name := range []string{"service", "token-file"} {
		_ = cmd.MarkFlagRequired(name)
	}
}

// ask reads a response of the service into an envelope of a kind, and returns its JSON.
func (f *serviceFlags) ask(ctx context.Context, path, kind string, envelope any) ([]byte, error) {
	token, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return nil, problem.Usage(nil, "--token-file: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(f.url, "/")+path, nil)
	if err != nil {
		return nil, problem.Usage([]string{"such as http://127.0.0.1:4355"}, "--service: %v", err)
	}
	q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, problem.Usage(nil, "the service cannot be asked: %v", err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxServiceBody))
	if err != nil {
		return nil, problem.Usage(nil, "the service cannot be asked: %v", err)
	}
	if r.StatusCode != http.StatusOK {
		return nil, problem.Usage(nil, "the service responds %s: %s", r.Status, strings.TrimSpace(string(body)))
	}
	var is struct{ Kind string }
	if err := json.Unmarshal(body, &is); err != nil || is.Kind != kind || json.Unmarshal(body, envelope) != nil {
		return nil, problem.Usage([]string{"is --service the address of generator-plugin?"}, "the response is not %s", kind)
	}
	return body, nil
}

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestRolloutStatusOfOne: a name selects one rollout in both forms, and is refused where there is
// none of it.
func TestRolloutStatusOfOne(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/rollouts" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"apiVersion":"argosy.dev/v1alpha1","kind":"RolloutStatus","hub":"hub-1","revision":"r","rollouts":[{"name":"dev","rings":[{"name":"first"}]},{"name":"prod","rings":[{"name":"second"}]}]}`)
	}))
	defer service.Close()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret\n"), 0o600))
	for _, form := range []string{"text", "json"} {
		status := func(args ...string) (code int, stdout, stderr string) {
			var out, errs bytes.Buffer
			args = append([]string{"rollout", "status", "--service", service.URL, "--token-file", token, "-o", form}, args...)
			code = run(t.Context(), args, nil, &out, &errs)
			return code, out.String(), errs.String()
		}
		if code, out, errs := status(); code != exitGood || !strings.Contains(out, "first") || !strings.Contains(out, "second") {
			t.Errorf("%s of all: %d %s %s", form, code, out, errs)
		}
		if code, out, errs := status("prod"); code != exitGood || strings.Contains(out, "first") || !strings.Contains(out, "second") {
			t.Errorf("%s of one: %d %s %s", form, code, out, errs)
		}
		if code, out, errs := status("prd"); code == exitGood || out != "" || !strings.Contains(errs, `did you mean "prod"?`) {
			t.Errorf("%s of none: %d %s %s", form, code, out, errs)
		}
	}
}

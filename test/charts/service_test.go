package charts_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pluginclient "github.com/argoproj/argo-cd/v2/applicationset/services/plugin"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"go.uber.org/goleak"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
)

// serveFolder runs the service on a folder, and fails when the service leaves a goroutine behind.
func serveFolder(t *testing.T, dir string) *server.Server {
	t.Helper()
	before := goleak.IgnoreCurrent()
	src, err := location.Open(git.Options{Location: dir})
	if err != nil {
		t.Fatal(err)
	}
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := server.Defaults()
	o.Source, o.Hub, o.Listen, o.TokenFile, o.Logger = src, "hub-eu", "127.0.0.1:0", tokenFile, slog.New(slog.DiscardHandler)
	s, err := server.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t, before)
	})
	deadline := time.After(time.Minute)
	for {
		changed := s.Refresher().Changed()
		if st := s.Refresher().Status(); st.Ready() || len(st.Refused) > 0 {
			return s
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatal("the folder is never read")
		}
	}
}

// listParameters queries as the ApplicationSet controller does.
func listParameters(t *testing.T, url, token, parameters string) (*pluginclient.ServiceResponse, error) {
	t.Helper()
	client, err := pluginclient.NewPluginService(t.Context(), "try", url, token, 30)
	if err != nil {
		t.Fatal(err)
	}
	input := v1alpha1.PluginParameters{}
	for _, pair := range strings.Fields(parameters) {
		key, value, _ := strings.Cut(pair, "=")
		input[key] = apiextensions.JSON{Raw: []byte(`"` + value + `"`)}
	}
	return client.List(t.Context(), input)
}

// Argo CD's client takes every view's answer, with a base URL that ends in a slash or not.
func TestArgoCDReadsTheResponses(t *testing.T) {
	s := serveFolder(t, "../..")
	for _, parameters := range []string{"view=members", "view=agents", "view=releases group=addons", "view=components group=addons"} {
		for _, url := range []string{s.Addr(), s.Addr() + "/"} {
			answer, err := listParameters(t, url, token, parameters)
			if err != nil || len(answer.Output.Parameters) == 0 {
				t.Errorf("%s: %v", parameters, err)
				continue
			}
			for _, set := range answer.Output.Parameters {
				if set["applicationName"] == "" || set["name"] == "" {
					t.Errorf("%s: %v", parameters, set)
				}
			}
		}
	}
}

// Whatever is wrong is an error to Argo CD, with our text; never an empty list, which deletes
// Applications (G1, G5).
func TestArgoCDNeverReadsAFailureAsAnEmptyList(t *testing.T) {
	good := serveFolder(t, "../..")
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "x.yaml"), []byte("a: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	notReady := serveFolder(t, broken)
	gone := serveFolder(t, "../..")
	if err := gone.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, url, token, parameters, want string }{
		{"not ready", notReady.Addr(), token, "view=members", "status code 503: not ready: "},
		{"stopped", gone.Addr(), token, "view=members", "refused"},
		{"no token", good.Addr(), "", "view=members", "status code 401: no bearer token"},
		{"wrong token", good.Addr(), "wrong", "view=members", "status code 401: the bearer token is wrong"},
		{"unresolved token", good.Addr(), "$argosy:token", "view=members", `status code 403: the bearer token is refused: it begins with "$"`},
		{"unknown view", good.Addr(), token, "view=member", `status code 400: view "member" is not known`},
		{"unknown hub", good.Addr(), token, "view=members hub=hub-e", `status code 400: hub "hub-e" has no member files`},
		{"another path", good.Addr() + "/healthz", token, "view=members", "status code 404: no such page"},
		{"path of the webhook", good.Addr() + "/api/v1/webhook", token, "view=members", "status code 404: no such page"},
		{"doubled slashes", good.Addr() + "//", token, "view=member", "status code 400: view"},
	} {
		answer, err := listParameters(t, c.url, c.token, c.parameters)
		if err == nil || !strings.Contains(err.Error(), c.want) || answer != nil {
			t.Errorf("%s: %v, %v", c.what, answer, err)
		}
	}
}

package git

import (
	"errors"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/githubapp"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// A GitHub App reads the repository with tokens that it asks for itself: one as long as it is good,
// another when it ends or is revoked, and by another key once the Secret has one.
func TestGitHubAppReadsWithTokensOfItsOwn(t *testing.T) {
	r := sourcetest.NewRepo(t)
	want := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	github, key := sourcetest.NewGitHub(t, r)
	folder := t.TempDir()
	files := map[string]string{githubapp.IDFile: sourcetest.AppID + "\n", githubapp.InstallationFile: sourcetest.AppInstallation, githubapp.KeyFile: key, githubapp.URLFile: github.URL}
	sourcetest.Write(t, folder, files)
	g := openGit(t, Options{Location: github.URL + "/.git", Credentials: folder, StateDir: t.TempDir()})
	reads := func(tokens ...string) {
		t.Helper()
		for _, token := range tokens {
			if s := sourcetest.Snapshot(t, g); s.Revision != want {
				t.Fatalf("got %s, want %s", s.Revision, want)
			}
			if !github.HasRead(token) {
				t.Errorf("the repository has not seen the token %s", token)
			}
		}
	}
	reads("ghs_1", "ghs_1")
	if n := github.Tokens(); n != 1 {
		t.Errorf("%d tokens for two polls", n)
	}

	// GitHub revokes the token before its time: one poll fails, and the next one has another token.
	github.Revoke()
	if _, err := g.Snapshot(sourcetest.Context(t)); !errors.Is(err, source.Authentication) {
		t.Errorf("with a token that is revoked: %v", err)
	}
	reads("ghs_2")

	// The Secret has another key: the App asks for a token by that. It ends within a minute, so the
	// next poll has another one.
	key = github.NewKey(t, 30*time.Second)
	files[githubapp.KeyFile] = key
	sourcetest.Write(t, folder, map[string]string{githubapp.KeyFile: key})
	reads("ghs_3", "ghs_4")

	// What is wrong is said without a token or a key, and the last snapshot stays.
	for detail, wrong := range map[string]map[string]string{
		"GitHub gives the App no token: 404 Not Found for installation 43":    {githubapp.InstallationFile: "43"},
		"GitHub gives the App no token: 401 Unauthorized for installation 42": {githubapp.IDFile: "8"},
		"the file githubAppID has no number":                                  {githubapp.IDFile: "my-app"},
		"the file githubAppPrivateKey has no private key (PEM, RSA)":          {githubapp.KeyFile: "-----BEGIN"},
		"the file githubAppEnterpriseBaseUrl has no https URL":                {githubapp.URLFile: "http://github.example.com"},
		"GitHub's API cannot be reached for a token":                          {githubapp.URLFile: "https://127.0.0.1:1"},
	} {
		sourcetest.Write(t, folder, files)
		sourcetest.Write(t, folder, wrong)
		s, err := g.Snapshot(sourcetest.Context(t))
		var e *source.Error
		if !errors.As(err, &e) || e.Reason != source.Authentication || e.Detail != detail || s == nil || s.Revision != want {
			t.Errorf("%s: %v", detail, err)
		}
	}
}

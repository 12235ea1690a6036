package secretpolicy

import (
	"strings"
	"testing"
)

// What the values refuse of a repository, and why; test/charts compares with the rendered policies.
func TestRepository(t *testing.T) {
	for _, c := range []struct{ values, address, keys, want string }{
		{"{}", "https://any.example/x", "password", ""},
		{"{}", "https://any.example/x", "bearerToken", "has the credential bearerToken"},
		{"{}", "https://any.example/x", "password proxy", "has the key proxy"},
		{"repositories: {hosts: [git.example]}", "https://git.example.evil/x", "password", "https://git.example.evil/x is at none of the allowed hosts"},
		{"repositories: {hosts: [git.example]}", "", "password", ""}, // the store's, which the API server judges
		{"presets: [ssh-only]", "git@git.example:x", "sshPrivateKey", ""},
		{"presets: [ssh-only]", "https://git.example/x", "", "https://git.example/x is of another form, which the preset ssh-only refuses"},
		{"presets: [ssh-only]", "", "password", "has the credential password, which the preset ssh-only refuses"},
		{"presets: [github-app-only]", "https://github.com/x", "githubAppPrivateKey", ""},
		{"presets: [github-app-only]", "https://github.com/x", "password", "preset github-app-only"},
		{"presets: [github-app-only, ssh-only]", "https://github.com/x", "githubAppPrivateKey", "preset ssh-only"},
		{"presets: [fleet-hosts]", "https://github.com/x", "password", "at none of the allowed hosts"},
		{"presets: [fleet-hosts]\nfleet: {repositories: ['', 'git@git.example:a/b', 'https://u@code.example:8443/x']}", "https://git.example/x", "password", ""},
		{"presets: [fleet-hosts]\nfleet: {repositories: ['https://code.example:8443/x']}", "https://code.example:8443/y", "password", ""},
		{"presets: [fleet-hosts]\nfleet: {repositories: ['https://code.example:8443/x']}", "https://code.example/y", "password", "at none of the allowed hosts"},
		{"presets: [one-region]\nfleet: {region: eu-west-1}", "https://git-codecommit.eu-west-1.amazonaws.com/v1/x", "password", ""},
		{"presets: [one-region]\nfleet: {region: eu-west-1}", "https://git-codecommit.us-east-1.amazonaws.com/v1/x", "password", "at none of the allowed hosts"},
		{"presets: [one-region]\nfleet: {region: eu-west-1}", "https://git-codecommit.us-east-1.amazonaws.com/.eu-west-1.amazonaws.com/", "password", "at none of the allowed hosts"},
		{"presets: [one-region]\nfleet: {region: eu-west-1}", "123456789012.dkr.ecr.eu-west-1.amazonaws.com/x", "password", ""},
		{"presets: [one-region]\nfleet: {region: eu-west-1}", "evil.ex/abcd.dkr.ecr.eu-west-1.amazonaws.com/x", "password", "at none of the allowed hosts"},
	} {
		p, err := New([]byte(c.values))
		if err != nil {
			t.Errorf("%s: %v", c.values, err)
			continue
		}
		if found, _ := p.Repository(c.address, strings.Fields(c.keys)); (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: %s with %s: %q; want %q", c.values, c.address, c.keys, found, c.want)
		}
	}
}

func TestForbiddenKeys(t *testing.T) {
	for values, want := range map[string]bool{"{}": true, "clusterSecrets: {forbidden: []}": false, "clusterSecrets: {forbidden: []}\npresets: [no-bearer-token]": true} {
		if p, err := New([]byte(values)); err != nil || p.IsForbidden("BEARERtoken") != want || p.IsForbidden("awsAuthConfig") {
			t.Errorf("%s: %v", values, err)
		}
	}
}

func TestBadValues(t *testing.T) {
	for values, want := range map[string]string{
		"presets: [ssh]":        `no preset "ssh"`,
		"presets: [one-region]": "needs fleet.region",
		"presets: {a: b}":       "cannot unmarshal",
		"presets: [one-region]\nfleet: {region: eu-west-1}\nrepositories: {hosts: [git-codecommit.us-east-1.amazonaws.com]}": "is a host of AWS in another region",
	} {
		if _, err := New([]byte(values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

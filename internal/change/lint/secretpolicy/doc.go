// Package secretpolicy checks before the commit which Secrets a hub's Argo CD may deploy with.
// charts/fleet-policies enforces the same rules at admission.
//
//	p, _ := secretpolicy.New([]byte("repositories: {hosts: [git.example.com]}"))
//	found, expected := p.Repository("https://github.com/acme/shop", nil)
//	// found: "https://github.com/acme/shop is at none of the allowed hosts"
//
// Defaults and presets are the chart's own files, and a test compares each verdict with the verdict
// of the rendered policies (test/charts). A verdict covers only what the repository says. The API
// server judges what is only in the secret store.
package secretpolicy

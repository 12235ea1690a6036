// Package secretpolicy says before the commit what charts/fleet-policies says at admission: which
// Secrets a hub's Argo CD may deploy with.
//
//		New      the chart's values, with its defaults and presets
//		Policy   what it says of a repository and of a cluster's connection settings
//
//	 1. Defaults and presets are the chart's own files. A test compares each verdict with that of the
//	    rendered policies (test/charts).
//	 2. A verdict is of what the repository says. What is in the secret store alone is the API
//	    server's to judge.
package secretpolicy

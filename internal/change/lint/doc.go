// Package lint finds errors in a fleet repository, and what is most likely a mistake.
//
//	for _, p := range lint.Run(state, tools) {
//		fmt.Println(p.Pos, p.Reason) // fleet/fleet-members/hub/prod-eu-1.yaml:4:1 no-effect
//	}
//
// Run is pure: it reads a state and nothing else. Callers may rely on:
//
//   - It reports the state's own problems, and warnings that change no response: files that no
//     cluster can read, values that YAML versions read differently, settings without effect,
//     missing credentials, and Application names that are used twice.
//   - It reports every independent problem, in order of position. A problem at a general level is
//     reported once, whatever the number of clusters.
//   - It looks for secrets in plain text (package secretscan).
package lint

// Package pipeline computes what a change of the fleet repository does to every cluster (Plan). It
// also computes the objects that a hub's pipeline creates (Render), and the state of a folder or a
// revision (Repository).
//
//	repository := pipeline.Repository{Location: "."}
//	p, err := pipeline.New(ctx, pipeline.Options{Repository: repository, Tools: tools})
//	plan, err := p.Plan(ctx, pipeline.Question{Base: "main"}) // main against the folder as it is
//
// It reads snapshots, builds the states, expands the pipelines of the hubs, and lets the guard
// decide without effect. It links neither Argo CD nor Helm: the caller passes in the expand.Tools.
package pipeline

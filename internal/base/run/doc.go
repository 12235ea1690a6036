// Package run has small tools for loops and goroutines.
//
//	t := run.NewTrigger()
//	t.Fire() // asks a loop to run now; several calls while it is busy cause one more run
//
//	run.Each(len(items), func(i int) { ... }) // calls f for each index, on all processors
//	shared.Do(ctx, key, compute)               // equal calls at the same time compute once
//	run.Caught(log, "resolve", func() { ... }) // logs a panic of f, and returns
package run

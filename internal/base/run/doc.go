// Package run has small tools for loops and goroutines.
//
//	t := run.NewTrigger(); t.Fire()      // ask a loop to run now; triggers while it is busy make one more run
//	run.Each(len(items), func(i int) {}) // call a function for each index, on all processors
//	run.Caught(log, "resolve", func() {}) // log a panic that a repository's contents caused, and go on
package run

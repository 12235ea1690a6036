// Package sandbox renders charts in child processes: a chart that does not end, or that takes too
// much memory, ends only its child.
//
//	charts := sandbox.New(func() (*exec.Cmd, error) { return exec.Command(self, "render"), nil })
//	objects, err := charts.Template(chart)
//	os.Exit(sandbox.Serve(helm.New(), os.Stdin, os.Stdout)) // in the child
//
// Callers may rely on this:
//
//  1. A child's environment holds only a time zone: UTC, as in Argo CD's image. It can open no file
//     and no connection: on Linux its limit of open files is zero once it runs.
//  2. A rendering has limits: the child's memory (enforced on Linux), the time, and the size of the
//     result. Beyond them the child ends, and only that chart is refused.
//  3. A child renders one chart at a time, and is used again. It ends when its input ends.
package sandbox

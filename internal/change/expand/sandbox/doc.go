// Package sandbox renders charts in child processes, so that a hostile chart can end only one of
// them.
//
//	charts := sandbox.New(func() (*exec.Cmd, error) { return exec.Command(self, "render"), nil })
//	objects, err := charts.Template(chart)
//	sandbox.Serve(helm.New(), os.Stdin, os.Stdout) // in the child
//
// Callers may rely on this:
//
//  1. A child's environment holds only a time zone: UTC, as in Argo CD's image. It can open no file
//     and no connection: on Linux its limit of open files is zero once it runs.
//  2. A rendering has limits: the child's memory, the time, and the size of the result. Beyond them
//     the child ends, and only that chart is refused.
//  3. A child renders many charts, one at a time. There are at most as many children as processors,
//     started on demand. They end when their input ends.
//  4. After maxEnded children that ended so, no further chart is rendered.
//  5. A child keeps the files of charts, so they are sent once. Definitions that many releases
//     share come back once.
package sandbox

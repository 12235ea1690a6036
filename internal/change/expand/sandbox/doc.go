// Package sandbox renders charts in child processes, so that a hostile chart can end one of them
// and nothing else.
//
//	New(command).Template(chart) -> manifests;  in the child: Serve(charts, stdin, stdout)
//
// Its rules:
//
//  1. A child has no environment but a time zone, UTC as Argo CD's image has it. It can open no
//     file and no connection: on Linux its limit of open files is zero once it runs.
//  2. A chart has Limits: the child's memory, the time that one rendering takes, and the size of
//     what it makes. Beyond, the child ends, and that chart alone is refused.
//  3. A child renders one chart at a time and many after another. There are as many as processors,
//     started when they are needed. They end when their input does.
//  4. After maxEnded children that ended so, no further chart is rendered.
//  5. A child keeps the files of charts that it has had; definitions that many releases share come
//     from it once.
package sandbox

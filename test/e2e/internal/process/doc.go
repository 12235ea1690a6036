// Package process starts, watches, restarts and ends programs as plain processes of this machine.
//
// Its rules:
//
//  1. Nothing outlives its Group. Stop ends what was started in reverse order: SIGTERM, a while,
//     then SIGKILL. Should the program that holds the Group die, by whatever signal, the kernel
//     kills its processes (Linux's parent-death signal).
//  2. Every process leads a process group of its own: the signals of a terminal do not reach it,
//     and with it ends, by SIGKILL, what it started and left behind.
//  3. Start returns when the process is ready, or with an error, and then nothing is left running.
//     The error says how it ended, or what Ready said last, and has the last lines of its log. The
//     context bounds the start, not the process.
//  4. Standard output and error go to DIR/NAME.log, appended to by later starts; the lines that
//     begin with "=== " are this package's.
//  5. The environment is Spec.Env, PATH and GOGC, standard input is empty.
//  6. With Spec.Forward a process lives in a private network namespace: what it serves there cannot
//     be reached from outside, not even from this machine, but by the ports of Spec.Publish, and it
//     reaches nothing but the ports of Spec.Forward and Spec.Reach. With Spec.Root it has a root
//     folder of its own as well, as a container has.
//  7. FreePort never gives the same port twice, nor one that another program holding this package
//     was given.
//
// How a private network is made (rule 6): this program executes itself in a new network namespace,
// where Init brings up the loopback device, listens on the ports, hands the listening sockets to
// the Group through an inherited socket and then becomes the command by exec. A child that it
// leaves there connects to the published ports, and hands the connections to the Group. A socket
// belongs to the namespace it was made in, whichever process holds it: the Group accepts
// connections inside and dials outside. So the command is the Group's own child, with its signals
// and its exit status.
package process

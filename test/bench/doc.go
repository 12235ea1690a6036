// Package bench measures the engine on generated fleets, as ratios: against peers that do the same
// work (Helm's own merge, Argo CD's own matrix generator, net/http), or against a limit (the bytes
// of the repository, the cold resolve of the same fleet). `make bench` prints a table with each
// goal and figure side by side. The files that measure have the build tag bench, because they link
// Argo CD and Helm as peers: `make test` vets them and runs the arithmetic alone.
//
// Rules:
//
//  1. A figure is the median of several rounds. The two sides of a ratio are measured one after the
//     other in the same round, in the same process with the same cores: what else the machine does
//     disturbs both.
//  2. A fleet is a function of its name and its size: package fleettest makes it.
//  3. Both sides give the same result, and that is checked: our merged values are Helm's, our
//     members are those of the matrix, the bytes served are those in memory.
//  4. Goals are printed, not asserted: a busy machine is no failure of the code. What is wrong is
//     one.
package bench

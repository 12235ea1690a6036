// Package planpage renders plans as HTML, for the service's pages and for files of the command
// line. It holds the stylesheet and the icon that they share.
//
//	planpage.WriteFile(w, planpage.Plan{Base: "main", Head: "topic", Summary: "2 changes"})
//
// Callers may rely on:
//
//  1. A Plan is plain data. The command line makes it from a report, the service from two states
//     that it has served.
//  2. WriteFile writes one file without scripts, pictures and links to other files. Its
//     Content-Security-Policy allows only the stylesheet in it, by its hash.
//  3. html/template escapes all texts of a fleet's files. Only the stylesheet is marked as safe.
package planpage

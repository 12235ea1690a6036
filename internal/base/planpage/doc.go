// Package planpage has what the service's pages and the command line's files share: a plan as HTML,
// the stylesheet and the icon. Its rules:
//
//  1. A Plan is plain data: what changes between two revisions, as a reader sees it. The command
//     line makes it of a report, the service of the states that it has served.
//  2. WriteFile writes a plan as one file that refers to nothing: no script, no picture. Its
//     Content-Security-Policy allows the stylesheet in it, by its hash, and nothing else.
//  3. html/template escapes the texts of a fleet's files. The stylesheet alone is marked as safe.
package planpage

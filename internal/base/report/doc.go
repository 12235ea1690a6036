// Package report has what all reports share: the envelope, positions, findings, and the style of
// text for terminals. Each report is a package below it.
//
//	{"apiVersion": "argosy.dev/v1alpha1", "kind": "Version", "version": "1.4.0", ...}
//
// Callers may rely on:
//
//  1. A report is a versioned envelope (apiVersion, kind) of plain Go types. JSON is that envelope,
//     and all other forms are written from it. Package schema generates docs/schemas from the
//     types.
//  2. Output is deterministic: the same result gives the same bytes. Lists are never null.
//  3. Text is for terminals: `file:line:column: severity: message [reason-code]`, with hints and
//     related places on separate lines. Colour repeats what the words say, and appears only where
//     the caller asks for it.
//  4. JSON is never truncated. Text truncates long values and says so.
//
// The command line and the server's /api/v1/explain share it. It does no I/O except to the writer
// that it gets.
package report

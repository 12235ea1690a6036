// Package report has what all reports share: the envelope, positions, findings, and the style of
// text for terminals. Each report is a package below it.
//
//  1. A report is a versioned envelope (apiVersion, kind) of plain Go types. JSON is that envelope;
//     package schema generates its JSON Schema from the types into docs/schemas. Text, Markdown and
//     SARIF are written from the envelope, so that all forms say the same.
//  2. Output is deterministic: the same result gives the same bytes. Lists are never null.
//  3. Text is for terminals: `file:line:column: severity: message [reason-code]`, with hints and
//     related places on lines of their own. Colour repeats what the words say, and appears only
//     where the caller asks for it.
//  4. JSON is never truncated; text truncates long values and says so.
//
// The command line and the server's /api/v1/explain share it. It does no I/O except to the writer
// that it is given.
package report

// Package report turns what the engine finds into what people and programs read.
//
//  1. Each kind of result is a versioned envelope (apiVersion, kind) of plain Go types, made from the engine's by one
//     function. JSON is that envelope; its JSON Schema is generated from the types into docs/schemas. Text and SARIF
//     are written from it, so that all forms say the same.
//  2. Output is deterministic: the same result gives the same bytes. Lists are never null.
//  3. Text is for terminals: `file:line:column: severity: message [reason-code]`, with hints and other places on
//     lines of their own. Colour only says again what the words say, and only where the caller asks for it.
//  4. Nothing is cut in JSON; text cuts long values and says so.
//
// The command line and the server's /api/v1/explain share it. It does no I/O but to the writer it is given.
package report

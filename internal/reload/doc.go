// Package reload keeps the value that is parsed from files, and reads the files again as they
// change: certificates, tokens, facts.
//
// Its rules:
//
//  1. The files have to be good when they are opened. Later, bad files leave the last good value.
//  2. A change is found by content. The files are small, and neither size nor times tell reliably
//     that a mounted Secret or ConfigMap has changed.
//  3. The same error has the same text, and is logged once (G5).
package reload

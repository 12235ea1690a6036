// Package state keeps what a restart goes on from: named records, each written in one step, each
// read whole or not at all.
//
//	Document[T]   one JSON value of a known format in one record
//	Store         the records: Folder, files of one process, or
//	              Objects, small objects of an API that replicas share (internal/hub: ConfigMaps)
//
// It knows neither Kubernetes nor what the records hold. Its rules:
//
//  1. Read returns a record as it was written, or an error: ErrNotFound if there is none, *Damaged
//     if it is not whole, of another format, or older than one that was read before. Any other
//     error means that the store cannot be reached: nothing is known of the record then, which is
//     not the same as that there is none.
//  2. Writing is conditional: the writer names the version that it has read, and gets ErrConflict
//     if another process has written since. So replicas do not lose one another's writes, and agree
//     in the end.
//  3. Objects compresses a record. A record that does not fit into one object has chunks, immutable
//     objects whose names hold the generation and a checksum. The head holds the checksum of the
//     whole and is written last. Nothing can name the chunks of an earlier generation any more, so
//     the next writer removes them. So nobody reads half of a record, or parts of two.
//  4. Records are bounded, and the error states limit and actual.
//  5. A Document is read as it was written, or not at all: a value that encodes to other bytes is
//     damaged.
package state

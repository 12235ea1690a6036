// Package store stores what a restart goes on from: named records, each written in one step, and
// read whole or not at all.
//
//	Replicated[T]  keeps one value of this process in a record, and merges what replicas write
//	Document[T]    is one JSON value in one record
//	Store          reads and writes records
//	Objects        is where they are: Folder, or small objects of an API that replicas share
//	               (internal/hub: ConfigMaps)
//
// It knows neither Kubernetes nor what the records hold. Its rules:
//
//  1. Read returns a record as it was written, or an error: ErrNotFound if there is none, *Damaged
//     if it is not whole. Any other error means that the store cannot be reached: nothing is known
//     of the record then, which is not the same as that there is none.
//  2. Writing is conditional: the writer names the version that it has read, and gets ErrConflict
//     if another process has written since. So replicas do not lose one another's writes.
//  3. A record is compressed. One that does not fit into an object has chunks, which nobody
//     overwrites: their names hold the generation and the checksum. The head holds the checksum of
//     the whole and is written last, and the writer then removes the chunks of earlier generations.
//     So nobody reads half of a record, or parts of two.
//  4. Records are bounded, and the error states limit and actual.
//  5. The name of a record holds the version of its format. So an older build and a newer one that
//     run side by side during an update leave each other's records alone.
//  6. A store with keys authenticates each record, its name and its generation by an HMAC. A record
//     without one, or with that of another key, is damaged.
//  7. A Document is read as it was written, or not at all: a value that encodes to other bytes is
//     damaged. A JSON decoder would skip what it does not know, and fill in what is missing.
//  8. A store with keys takes no Document of an earlier generation than it has seen: it is damaged.
//     So nobody who can write the objects puts an older record back under a process that runs, nor
//     after a restart that has the file of Anchor. A store without that file takes what it finds.
package store

// Package store stores the state from which a process continues after a restart, as named records.
//
//	s := store.New(folder, key)
//	version, err := s.Write(ctx, "checkpoint-v1", data, "") // "" for a new record
//	data, version, err = s.Read(ctx, "checkpoint-v1")
//
// Replicated keeps one value of a process in a record, and merges what replicas write. Document is
// one JSON value in one record. Store reads and writes records. Objects is where they are: a
// Folder, or small objects of an API that replicas share (internal/hub: ConfigMaps).
//
// Callers may rely on:
//
//  1. Read returns a record as it was written, or an error: ErrNotFound if there is none, *Damaged
//     if it is incomplete or changed. Any other error means that the store cannot be reached: the
//     record may or may not exist.
//  2. Writing is conditional: the writer names the version that it has read, and gets ErrConflict
//     if another process has written since. So replicas do not lose each other's writes.
//  3. No reader sees half of a record, or parts of two. A record that does not fit into an object
//     has chunks whose names hold the generation and the checksum. The head is written last, and
//     then the writer removes the chunks of earlier generations.
//  4. Records are compressed and bounded. The error states the limit and the actual size.
//  5. The name of a record holds the version of its format. So an older and a newer build that run
//     side by side during an update do not touch each other's records.
//  6. A store with keys authenticates each record, its name and its generation by an HMAC. A record
//     without an HMAC of one of the keys is damaged.
//  7. A Document whose value encodes to other bytes than the record's is damaged. A JSON decoder
//     would skip unknown fields, and fill in missing ones.
//  8. A store with keys rejects a Document of an earlier generation than it has seen, as damaged.
//     So an older record cannot be restored under a running process. After a restart, the store
//     accepts the record that it finds.
package store

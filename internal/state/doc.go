// Package state keeps what a service goes on from after a restart, in a room that outlives it: named records, each written
// in one step, each found whole or not at all.
//
//	Folder   files of one folder
//	Objects  -> Chunked: small objects of a store that several replicas share, such as Kubernetes' ConfigMaps
//
// Its rules:
//
//  1. A record is found as it was written, or is an error: ErrNotFound when there is none, *Damaged when it is not whole, is
//     of another format or version, or is older than one that was seen before. Any other error means that the room cannot be
//     reached: nothing is known of the record then, which is not the same as that there is none.
//  2. Writing is conditional: whoever writes names the version that it has read, and gets ErrConflict if somebody else has
//     written since. So replicas lose nothing of one another's, and agree in the end.
//  3. A record of Chunked is compressed. What does not fit into one object is in chunks, immutable objects whose names have the
//     generation and a checksum; the head, which has the checksum of the whole, is written last. What is of a generation
//     before the head's can never be named again, and is removed. So half of a record, or parts of two, are never read.
//  4. Records are bounded, and the error states limit and actual.
//  5. Who keeps JSON in a record reads it by Unmarshal: as it was written, or not at all.
//
// It knows neither Kubernetes nor what records hold.
package state

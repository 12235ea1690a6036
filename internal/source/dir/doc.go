// Package dir makes snapshots of a repository in a folder of this machine, without Git.
//
//	f, err := dir.New("/srv/fleet", source.Limits{})
//	s, err := f.Snapshot(ctx)
//
// A poll lists the folder, reads the files that have changed since the last poll, and returns the
// last snapshot if none has. The promises of package source hold.
package dir

// Package dir makes snapshots of a repository in a folder of this machine, without Git.
//
// A poll lists the folder, reads the files that changed since the last poll, and gives the last
// snapshot if none did. The rules are those of package source.
package dir

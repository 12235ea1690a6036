// Package source says what a source of snapshots is: an interface, its limits and its errors.
//
// source/git reads a repository through Git, source/dir a folder; source/tree follows their
// symbolic links alike, and source/location chooses between the two by a location.
//
// The rules of every source:
//
//  1. A source gives a complete snapshot or an error. A folder that is missing, cannot be read, or
//     holds no file that the resolver reads is an error, never an empty snapshot. Callers go on
//     with the snapshot they have (G4).
//  2. Snapshot and Watch return the last good snapshot next to an error, so that an unreachable
//     server changes nothing. After a restart with the same state directory, Git starts from the
//     commit it served last.
//  3. Unchanged files are not read again: a folder recognizes them by size, times and inode (it
//     reads files again that changed within two seconds of a poll, because their times may not show
//     a change), Git by the ids of blobs. Unchanged files keep their *snapshot.File; an unchanged
//     repository keeps its *Snapshot.
//  4. Only files whose names end in .yaml, .yml, .json or .gotmpl are part of a snapshot: the
//     resolver reads no other. With Limits.Charts, so are .tpl, .tgz, .jsonnet, Chart.lock,
//     .helmignore, Kustomization and .sourceignore, and any file in a folder templates, files or
//     crds. Submodules are left out; in a folder that is a clone, these are the folders below it
//     with a .git of their own. A folder that is no clone may be put together of clones.
//  5. Symbolic links are followed inside the repository, to files and to folders. A link that leads
//     out of it becomes an entry with an error (H8), and so does a link to nothing or in a circle
//     that has a name of rule 4. A folder that is itself a symbolic link is followed at each poll
//     (git-sync swaps such a link). Names beginning with ".." are no part of the repository, but
//     links may lead to them (Kubernetes mounts ConfigMaps that way).
//  6. A file over the size limit becomes an entry with an error, without being read. So does one
//     without the permission to read it. The number of entries and files and the sum of bytes are
//     bounded: folders that have too much become entries with an error, which states the limit and
//     the actual number (H10). What is beside them is read as ever.
//  7. Errors are short, and the same failure has the same text each time: no temporary paths, no
//     times, no ports (G5). They never hold credentials. Their reasons (Reason) are stable codes.
//  8. All methods may be called concurrently.
package source

// Package source defines what a source of snapshots is: an interface, its limits and its errors.
// source/git reads a repository through Git, source/dir a folder. source/tree follows their
// symbolic links, and source/location chooses between the two by a location.
//
//	src, err := location.Open(git.Options{Location: "https://git.example/fleet.git", Ref: "main"})
//	src.Watch(ctx, func(s *snapshot.Snapshot, err error) { ... })
//
// Callers of every source may rely on:
//
//  1. A source returns a complete snapshot or an error. A folder that is missing, cannot be read,
//     or holds no file that the resolver reads is an error, never an empty snapshot. Callers keep
//     the snapshot that they have.
//  2. Snapshot and Watch return the last good snapshot next to an error, so that an unreachable
//     server changes nothing. After a restart there is none: the service's store has it.
//  3. Unchanged files are not read again. A folder recognizes them by size, times and inode, and
//     reads again the files that changed within two seconds of a poll. Git recognizes them by the
//     ids of blobs. Unchanged files keep their *snapshot.File; an unchanged repository keeps its
//     *Snapshot.
//  4. Only files whose names end in .yaml, .yml, .json or .gotmpl are part of a snapshot: the
//     resolver reads no others. Limits.Charts adds .tpl, .tgz, .jsonnet, Chart.lock, .helmignore,
//     Kustomization and .sourceignore, and any file in a folder templates, files or crds.
//     Submodules are left out. In a folder that is a clone, these are the folders below it with a
//     .git of their own. A folder that is not a clone may consist of clones.
//  5. Symbolic links are followed inside the repository, to files and to folders. A link that leads
//     out becomes an entry with an error. So does a link to nothing or in a circle, if it has a
//     name of rule 4. A folder that is itself a symbolic link is followed at each poll (git-sync
//     replaces such a link). Names beginning with ".." are not part of the repository, but links
//     may lead to them (Kubernetes mounts ConfigMaps that way).
//  6. A file over the size limit, or without the permission to read it, becomes an entry with an
//     error. So does such a folder. The number of entries and files and the sum of bytes are
//     bounded: a repository beyond a limit is an error, which states the limit, the actual number
//     and the folder or file with the most.
//  7. Errors are short, and the same failure has the same text each time: no temporary paths, times
//     or ports. They never hold credentials. Their reasons (Reason) are stable codes.
//  8. All methods may be called concurrently.
package source

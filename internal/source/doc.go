// Package source makes snapshots of a fleet's repository, from a folder or through Git.
//
//  1. A Snapshot is complete or is not given: a folder that is missing, cannot be read, or holds no file the engine
//     reads is an error, never an empty snapshot. Whoever has an older snapshot goes on with it (G4).
//  2. Snapshot and Watch hand out the last good snapshot beside an error, so that an unreachable server changes
//     nothing. After a restart with the same state directory, Git starts from the commit it served last.
//  3. What has not changed is not read again: a folder's files are recognized by size, times and inode (files
//     touched in the last two seconds before a look are read again in the next, as their times may not tell), Git's
//     blobs by their ids. Unchanged files keep their *snapshot.File; an unchanged repository keeps its *Snapshot.
//  4. Only files whose names end in .yaml, .yml, .json or .gotmpl are part of a snapshot: the engine reads no other.
//     With Limits.Charts, so are .tpl, .tgz, .jsonnet, Chart.lock, .helmignore, Kustomization and .sourceignore, and
//     whatever is in a folder templates, files or crds. Submodules are left out; of a folder that is a clone, these
//     are the folders below it with a .git of their own. A folder that is none may be put together of clones.
//  5. Symbolic links are followed inside the repository, to files and to folders. One that leads out of it becomes
//     an entry with an error (H8), and so does a link to nothing or in a circle that has a name of rule 4. A folder
//     that is itself a symbolic link is followed, anew at each look (git-sync swaps such a link). Names beginning with
//     ".." are no part of the repository, but links may lead to them (Kubernetes mounts ConfigMaps that way).
//  6. A file over the size limit becomes an entry with an error, without being read. The number of entries and files
//     and the sum of bytes are bounded; beyond, there is no snapshot but an error with limit and actual (H10).
//  7. Errors are short and the same each time the same thing is wrong: no temporary paths, no times, no ports (G5).
//     They never hold credentials. Their reasons (Reason) are stable codes.
//  8. Git runs without prompts, hooks and the configuration of user and system, but with the environment's proxies,
//     certificates and ssh settings. Credentials reach it through a credential helper bound to the repository's host
//     or through ssh's identity file: no secret is on a command line, in a URL or in a configuration file. Git hands
//     a URL on as an argument, so one with a query or a fragment, where secrets may be, is refused.
//  9. All methods may be called concurrently.
//  10. Revision reads any revision of a local repository by Git's objects alone, under the same rules.
//  11. Other reads parts of repositories that are not the fleet's, for the command line: it has the user's configuration of
//     git besides, with its credential helpers, and bounds what a fetch may bring. No terminal is asked for anything.
package source

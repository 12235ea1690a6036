// Package git makes snapshots of a Git repository through the git command.
//
// Repository follows a ref at a server, Revision reads any revision of a local repository, and
// Remote reads parts of remote repositories for the command line.
//
// Its rules, besides those of package source:
//
//  1. Git runs without prompts, hooks and the configuration of user and system, but with the
//     environment's proxies, certificates and ssh settings.
//  2. Git gets credentials through a credential helper that is bound to the repository's host, or
//     through ssh's identity file: no secret is on a command line, in a URL or in a configuration
//     file. Git passes a URL on as an argument, so New refuses one with a query or a fragment,
//     where secrets may be.
//  3. Revision reads Git's objects alone, under the rules of source. It executes nothing that the
//     repository's configuration names.
//  4. Remote runs git with the user's configuration and its credential helpers. No terminal is
//     asked for anything.
//  5. A fetch leaves out blobs over the limit of a file, if the server knows filters. Memory, disk
//     and time of git are bounded in any case. The mirror lists blobs that were left out: another
//     one that is missing is damage.
//  6. A short name of a tag and a branch is an error, everywhere. Repository remembers which of the
//     two it has served, also over restarts, and takes none of the other kind for it.
//  7. Git that ends for its memory, for a full disk or by a signal says nothing about the mirror. A
//     damaged mirror stays beside the new one until that has been read.
package git

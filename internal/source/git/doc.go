// Package git makes snapshots of a Git repository through the git command. Repository follows a ref
// at a server, Revision reads any revision of a local repository, and Remote reads parts of remote
// repositories for the command line.
//
//	r, err := git.New(git.Options{Location: "https://git.example/fleet.git", Ref: "main"})
//	s, err := r.Snapshot(ctx)
//	s, err = git.Revision(ctx, ".", "HEAD~1", source.Limits{})
//
// Besides the promises of package source, callers may rely on:
//
//  1. Git runs without prompts, hooks and the configuration of user and system, but with the
//     environment's proxies, certificates and ssh settings.
//  2. Git gets credentials through a credential helper for the repository's host only, or through
//     ssh's identity file. No secret is on a command line, in a URL or in a configuration file. Git
//     passes a URL on as an argument, so New rejects a URL with a query or a fragment, where
//     secrets may be.
//  3. Revision reads only Git's objects, with the promises of package source. It executes nothing
//     that the repository's configuration names.
//  4. Remote runs git with the user's configuration and its credential helpers. It never prompts on
//     a terminal.
//  5. Memory, disk and time of git are always bounded. A commit beyond a limit is refused until the
//     ref points to another one, and the last snapshot stays.
//  6. A short name of both a tag and a branch is an error.
//  7. A git process that ends for lack of memory or disk, or by a signal, does not mean that the
//     mirror is damaged. A damaged mirror is fetched again.
package git

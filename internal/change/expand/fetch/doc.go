// Package fetch gets what is not in the fleet's repository: charts of Helm repositories over
// HTTP(S) and of OCI registries, folders and files of other Git repositories, and files of values
// at URLs. It is for the command line alone.
//
//	Charts.Chart(RepoURL, Name, Version) -> Archive
//	Charts.At(RepoURL, Revision, Path)   -> Snapshot
//	Charts.Values(URL)                   -> text
//
// Helm's packages read its files (index.yaml, repositories.yaml) and choose versions; ORAS asks
// registries, which a URL without a scheme is, or with oci://. Helm's own getters and its registry
// client are not used: they know no deadline, and take as much memory as a server says.
//
//  1. An exact version is fetched once, ever: it is kept in a folder, named by its SHA-256, and
//     checked each time that it is read. A range is looked up anew in each run. With Offline, the
//     folder is all there is, and a range is the highest of what is in it.
//  2. What index.yaml or a manifest says of a digest is checked before a chart is kept. Files are
//     written in one step, for their owner alone.
//  3. Everything is bounded: an archive, packed and unpacked; an index; how long a request takes,
//     and how many there are at once; and all bytes of a run.
//  4. A chart is asked for once in a run, and so is an index, whether it can be had or not.
//  5. Credentials are those that Helm finds: its repositories.yaml, its registry config, and
//     Docker's. They go to the host that they are for, and so do those of a URL, and never where a
//     redirect leads to another host. No message has one, nor a URL that a server redirected to. Of
//     Git they are those that git finds.
//  6. Git repositories are read by the git command (internal/source, Other): a revision's newest
//     commit alone is fetched, once, into a mirror. What a branch, a tag or a range stands for is
//     asked in each run, and is one commit throughout it.
//  7. Nothing is removed from the folder: whoever owns it may delete it, or parts of it.
//  8. Two revisions fetch by a View each. The base fetches what it names. The head fetches what the
//     base names, or a flag allows; everything else is refused with the flag as the hint. Requests
//     go by https and ssh, and to public addresses: an address of this machine or of a private
//     network is for a host that the base or a flag names. That is judged at every connection, by
//     the address that it is made to; names that a proxy looks up are not. Git follows no redirect.
//     An address has the host that net/url finds in it, as requests do; one in which git could find
//     another is refused.
package fetch

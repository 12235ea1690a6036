// Package fleetrepo makes the repository of a demonstration fleet out of this repository, which is
// a fleet itself, and keeps a clone of it to commit and push from.
//
//  1. What is copied are the folders of a fleet (Folders) as they are in the working tree: tracked
//     files, changed or not, and new ones that are not ignored. Nothing else of the checkout is
//     read, and neither is the chart that installs a hub (Installation).
//  2. The address of this repository (Options.Upstream) becomes that of the demonstration's
//     (Options.Remote), wherever it is written.
//  3. Chart repositories become Options.ChartRepo. The YAML around them shows which they are: a
//     `repoURL` is a chart's, unless the same map has a `path` or a `ref`, then it is Git's. OCI
//     registries, with or without a scheme, are treated alike. Entries of `sourceRepos` follow the
//     chart repositories that the fleet names elsewhere; what becomes the same entry in lines that
//     follow each other is written once. Files are changed at these places alone: comments and
//     layout stay.
//  4. Whatever still names another host where a repository is expected (repoURL, chartRepo,
//     chartRepoUrl, <group>_repo_url, sourceRepos), templates included, is an error with file and
//     line: the demonstration reaches nothing outside of this computer. Values that are templates
//     from their first character on are left to the chart that renders them.
//  5. Of the members of Options.Hub its own file and those of Options.Members stay; AddMember
//     brings others back. Files of the hierarchy that no member is left for go with them, or
//     `argosy lint` would warn of each. Other hubs stay complete: they are not started, but a fleet
//     has several hubs, and their members keep shared levels in use.
//  6. The branches main and release-next are pushed, with the same content. The canary releases,
//     which are at HEAD between two trials, are at the latter.
//  7. ApplicationSets of bootstraps ask again after ten hours, not ten minutes.
//  8. The teams' repositories (https://git.example.com/TEAM/NAME) are on the Git server of the
//     demonstration. What they hold is in a checkout's examples/repositories (NewTeam).
//  9. Git's configuration of user and system is neither read nor written (package gitcmd).
//  10. Removals count for their own commit alone: a demonstration removes several within an hour.
//
// A Repo is not for concurrent use.
package fleetrepo

// Package component builds the real programs a hub is made of (etcd, Kubernetes, Argo CD, ...) from
// their published Go modules, once, into the user's cache.
//
//	C1. A component is a module of its own, Root/<name>/go.mod, that names the commands to build
//	    as `tool`s; they may be its own. Nothing else is downloaded, and no container is needed.
//	C2. What was built is kept in Cache/<name>-<key>. The key is made of go.mod, go.sum, its own Go
//	    files, the Go version and what this package does with the component beyond building it
//	    (recipe.go). What is there is not built again, and using it needs neither the network nor
//	    the module cache.
//	C3. Such a directory is there whole or not at all: it is put together beside its place and
//	    renamed. A build that fails, is cancelled or is killed leaves nothing behind that a later
//	    one would take for a result.
//	C4. One run builds at a time. A second one says that it waits, and then uses what the first made.
//	C5. Files a running component needs out of its module (custom resource definitions) are copied
//	    beside the commands.
//	C6. Commands know their versions, as released ones do: Helm and Argo CD act upon the version that
//	    kube-apiserver tells.
//	C7. Of each component the three builds used last are kept.
//	C8. Files below Root/<name>/overlay take the place of those of a module, by their paths in it.
//
// Cancelling the context ends the build and all the processes it started.
package component

// Package plan compares two states of a fleet: what changes for each cluster and each of its
// Applications.
//
//		Compare(base, head) -> Plan
//
//	 1. It compares everything that any engine is told: registrations, agents, releases and components of all hubs, and
//	    the labels and annotations of the clusters themselves. What is the same is only counted.
//	 2. A plan is complete but for what it names: members that cannot be computed. One that keeps what it had keeps it in the
//	    plan; one that nothing is known of before is not in it.
//	 3. An Application is known by its hub, cluster, view and name. It is created, changed, moved (another owner, engine,
//	    group or release: the old answer loses it and the new one gains it, rule D4) or removed.
//	 4. A removal has one of the causes of rule D2, where possible the place of what caused it, and says whether what
//	    runs goes or stays, as the files ask for it.
//	 5. A retired member counts as one that is not there; so does its file's removal later on change nothing.
//	 6. Differences name the old and the new value and the places that set them. Values are compared leaf by leaf; lists
//	    of the same length, element by element; a list of another length is one difference. That a value is set elsewhere
//	    is no difference as long as it stays the same.
//	    Labels and annotations are a cluster's own differences; what registers it changes with them, and does not tell them again.
//	 7. A release's catalog is that of the revision which the release names, where the states know it (fleetstate.FindReleaseCatalog); else
//	    a release's new version is one difference of the release. What such a catalog lacks has no Application; what a new
//	    one lacks no more than that is left behind, and goes on. With charts from elsewhere rendered (Expand), what they make
//	    is compared: of an object the first differences are told, of a Secret not what it holds, and of a long text the first
//	    line that differs.
//	 8. Plans are deterministic: sorted by hub, cluster, then Application.
//	 9. A draining member keeps what it has: what the head would change of it is no change, and told apart, as waiting.
//
// It is pure, as the engine is.
package plan

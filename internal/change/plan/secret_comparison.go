package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// secretComparison collects what the objects of External Secrets use before and after a change. A
// nil secretComparison collects nothing.
type secretComparison struct {
	reader SecretReader
	x      *objects
	before secretSide
	after  secretSide
}

// secretSide holds one revision's accesses of changed objects, and the stores that have been met
// with their roles.
type secretSide struct {
	sites  map[secretKey]secretSite
	stores map[storeKey][]string
}

func newSecretComparison(reader SecretReader, x *objects) *secretComparison {
	if reader == nil {
		return nil
	}
	side := func() secretSide { return secretSide{map[secretKey]secretSite{}, map[storeKey][]string{}} }
	return &secretComparison{reader: reader, x: x, before: side(), after: side()}
}

// pair reads both sides of a pair. An object that stays keeps reading, and so does the old object
// where the API server refuses the new one.
func (s *secretComparison) pair(p expand.Pair) {
	if s == nil || !p.Any().OfExternalSecrets() {
		return
	}
	if p.Left { // no object of the fleet makes its store any more
		if read, err := s.reader.Read(p.Before.Tree); err == nil {
			s.sites(p.Before, read, s.before)
			s.sites(p.Before, read, s.after)
			s.store(p.Before, read, s.before)
		}
		return
	}
	if p.After != nil {
		read, err := s.reader.Read(p.After.Tree)
		var refused *SecretFault
		if errors.As(err, &refused) {
			s.report(p.After, *refused)
			return
		}
		for _, f := range read.Faults {
			s.report(p.After, f)
		}
		s.uses(p.After, read, s.after)
	}
	if p.Before != nil {
		// A fault at the base is not the change's.
		if read, err := s.reader.Read(p.Before.Tree); err == nil {
			s.uses(p.Before, read, s.before)
		}
	}
}

func (s *secretComparison) report(o *object.Object, f SecretFault) {
	s.x.after.Report(problem.Problem{
		Reason: problem.InvalidSecret, Severity: problem.Error, Pos: s.place(o, f.Path), Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()),
		Found: f.Found, Expected: f.Expected, Cluster: s.cluster(o),
	})
}

func (s *secretComparison) uses(o *object.Object, read SecretObject, into secretSide) {
	s.sites(o, read, into)
	s.store(o, read, into)
}

// sites records what an object reads and writes.
func (s *secretComparison) sites(o *object.Object, read SecretObject, into secretSide) {
	cluster, namespace := s.cluster(o), namespaceOf(o)
	for _, u := range read.Uses {
		k := secretKey{verb: u.Verb, cluster: cluster, namespace: namespace, store: u.Store, name: u.Name}
		if _, twin := into.sites[k]; !twin {
			into.sites[k] = secretSite{kind: o.Kind(), name: o.Name(), pos: s.place(o, u.Path)}
		}
	}
}

// store records a store with its roles.
func (s *secretComparison) store(o *object.Object, read SecretObject, into secretSide) {
	if read.Store == nil {
		return
	}
	k := storeKey{cluster: s.cluster(o), store: *read.Store}
	if k.store.Kind == namespacedStore {
		k.namespace = namespaceOf(o)
	}
	roles := []string{}
	for _, u := range read.Uses {
		roles = append(roles, u.Name)
	}
	slices.Sort(roles)
	into.stores[k] = slices.Compact(roles)
}

// accesses returns what the change newly reads and writes, and what it no longer does.
func (s *secretComparison) accesses() []SecretAccess {
	if s == nil {
		return nil
	}
	s.findStores()
	out := append(accesses(Create, s.after.sites, s.before.sites, s.after.stores), accesses(Remove, s.before.sites, s.after.sites, s.before.stores)...)
	slices.SortFunc(out, compareAccesses)
	return out
}

// findStores looks on the affected clusters for newly used stores that the comparison has not met,
// and for users of removed stores. A used store that nothing makes is a problem of the head.
func (s *secretComparison) findStores() {
	users, clusters := map[storeKey]secretSite{}, map[string]bool{}
	use := func(k storeKey, site secretSite) {
		clusters[k.cluster] = true
		if first, found := users[k]; !found || site.pos.Compare(first.pos) < 0 {
			users[k] = site
		}
	}
	for k, site := range s.after.sites {
		if _, both := s.before.sites[k]; !both && k.namesStore() && !s.after.has(k.storeKey()) {
			use(k.storeKey(), site)
		}
	}
	gone := map[storeKey]bool{}
	for k := range s.before.stores {
		if !s.after.has(k) {
			gone[k], clusters[k.cluster] = true, true
		}
	}
	if len(clusters) == 0 {
		return
	}
	unknown := s.x.after.ExternalSecrets(clusters, func(o *object.Object) bool {
		read, err := s.reader.Read(o.Tree)
		if err != nil {
			return true
		}
		s.store(o, read, s.after)
		for _, u := range read.Uses {
			k := secretKey{verb: u.Verb, cluster: s.cluster(o), namespace: namespaceOf(o), store: u.Store, name: u.Name}
			if k.namesStore() && gone[k.storeKey()] {
				use(k.storeKey(), secretSite{kind: o.Kind(), name: o.Name(), pos: s.place(o, u.Path)})
			}
		}
		return len(gone) > 0 || slices.ContainsFunc(slices.Collect(maps.Keys(users)), func(k storeKey) bool { return !s.after.has(k) })
	})
	if !s.x.after.Renders() {
		return // a remote chart may make it
	}
	for k, site := range users {
		isDeclared := k.store.Kind == clusterStore && slices.Contains(s.x.after.DeclaredStores(), k.store.Name)
		if s.after.has(k) || unknown[k.cluster] || unknown[""] || isDeclared {
			continue
		}
		s.x.after.Report(problem.Problem{
			Reason: problem.UnknownStore, Severity: problem.Warning, Pos: site.pos, Subject: site.kind + fmt.Sprintf(" %q", site.name), Cluster: k.cluster,
			Found: fmt.Sprintf("no object of the fleet makes %s on the cluster", k.store), Expected: "a store that the fleet makes, or a ClusterSecretStore of the layout's secretStores",
		})
	}
}

func (s secretSide) has(k storeKey) bool {
	_, met := s.stores[k]
	return met
}

// namesStore reports whether an access names a store that can be searched for.
func (k secretKey) namesStore() bool {
	switch k.store.Kind {
	case clusterStore:
		return k.verb != AssumeRole && k.store.Name != ""
	case namespacedStore:
		return k.verb != AssumeRole && k.store.Name != "" && k.namespace != ""
	}
	return false
}

// cluster returns where an object is deployed. An Application's objects go to its destination.
func (s *secretComparison) cluster(o *object.Object) string {
	if c := clusterOf(o); c != "" {
		return c
	}
	for above := o.Parent; above != nil; above = above.Parent {
		if name := manifest.Text(above.Tree, "spec", "destination", "name"); above.Application() && name != "" && name != "in-cluster" {
			return name
		}
	}
	return s.x.after.Name()
}

// namespaceOf returns an object's namespace, or the namespace to which it is deployed.
func namespaceOf(o *object.Object) string {
	switch {
	case strings.HasPrefix(o.Kind(), "Cluster"):
		return ""
	case o.Parent == nil:
		return o.Namespace()
	}
	return cmp.Or(o.Namespace(), o.Parent.TargetNamespace())
}

// place returns where a path of an object is written, or for a rendered object the place that
// changes it.
func (s *secretComparison) place(o *object.Object, path []string) problem.Pos {
	if o.Written() {
		return o.At(path...)
	}
	if pos := s.x.placeOfChange(o.Parent); !pos.IsZero() {
		return pos
	}
	return o.Pos
}

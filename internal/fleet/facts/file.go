package facts

import (
	"encoding/json"
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// document is a facts file.
type document struct {
	APIVersion string    `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string    `json:"kind,omitempty" jsonschema:"enum=Facts"`
	Closed     bool      `json:"closed,omitempty"`
	Clusters   []Cluster `json:"clusters,omitzero"`
	// An empty list says that an engine has no such object. Without the list nothing is known.
	Applications   []Application `json:"applications,omitzero"`
	HelmReleases   []Application `json:"helmReleases,omitzero"`
	Kustomizations []Application `json:"kustomizations,omitzero"`
}

// fileHead is the comment that File begins with.
const fileHead = `# What a hub knows of its clusters, for places that cannot ask it (argosy --facts FILE). Labels and annotations, no credentials.
# Written by argosy facts export.
`

// File returns the set as a facts file, which Parse reads as the same set, except for Secrets' UIDs
// and addresses, for which Applications are or were broken, and for reports. The same set gives the
// same bytes.
func (s Set) File() ([]byte, error) {
	d := document{APIVersion: "argosy.dev/v1alpha1", Kind: "Facts", Closed: s.Closed, Clusters: []Cluster{}}
	for _, name := range s.Names() {
		c := s.clusters[name]
		d.Clusters = append(d.Clusters, Cluster{Name: c.Name, Server: c.Server, Labels: c.Labels, Annotations: c.Annotations})
	}
	if s.applications != nil {
		d.Applications = s.applications.inFile("")
	}
	if s.helmReleases != nil {
		d.HelmReleases, d.Kustomizations = s.helmReleases.inFile(""), s.helmReleases.inFile(Kustomization)
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	all, _ := root["applications"].([]any)
	for i := range all {
		if item, is := all[i].(map[string]any); is && s.health { // where it is known, each has it
			item["healthy"] = d.Applications[i].Healthy
		}
	}
	data, err := yamldoc.FromAny(nil, root).YAML()
	return append([]byte(fileHead), data...), err
}

// inFile returns the objects of a kind as a facts file lists them.
func (k *applications) inFile(kind string) []Application {
	out := []Application{}
	for _, a := range k.sorted {
		if a.Kind == kind {
			a.Kind, a.Degraded, a.Broken = "", false, 0
			out = append(out, a.withoutReport())
		}
	}
	return out
}

// Parse reads a facts file. The error is a problem.List of all problems.
func Parse(file string, data []byte) (Set, error) { return Join(File{file, data}) }

// File is a facts file that has been read.
type File struct {
	Name string // for messages
	Data []byte
}

// Join reads facts files of several hubs, one of each, as the facts of a fleet. All files must be
// closed or none, and all must list what engines have or none: otherwise what one file does not
// know would count as missing. What two files list, they must list with the same facts. The error
// is a problem.List of all problems.
func Join(files ...File) (Set, error) {
	j := joiner{seen: map[string]listed{}}
	var problems problem.List
	for i, file := range files {
		if err := j.read(i, file); err != nil {
			problems = append(problems, problem.From(err, problem.InvalidValue, problem.Pos{File: file.Name})...)
		}
	}
	if len(problems) > 0 {
		return Set{}, problems
	}
	set := NewSet(j.isClosed, j.clusters...)
	if j.hasApplications {
		set = set.WithApplications(j.applications...)
		set.health = j.hasHealth
	}
	if j.hasReleases {
		set = set.WithHelmReleases(j.releases...)
	}
	return set, nil
}

// joiner collects the content of files.
type joiner struct {
	clusters                     []Cluster
	applications, releases       []Application
	hasApplications, hasReleases bool
	// hasHealth reports that an Application says whether it is healthy.
	hasHealth bool
	// first is the first file, and isClosed and hasEngines what it says.
	first                string
	isClosed, hasEngines bool
	seen                 map[string]listed // by kind and name
}

// listed is an element of a file's list: a cluster, or an engine's object.
type listed struct {
	pos     problem.Pos
	file    int
	cluster Cluster
	object  Application
}

// read adds a file's facts.
func (j *joiner) read(file int, f File) error {
	doc, err := yamldoc.Parse(f.Name, f.Data)
	if err != nil {
		return err
	}
	r := yamldoc.NewReader(doc)
	if doc.Root.IsNull() { // a failed export or half a write, not a file without facts
		r.Add(problem.InvalidValue, doc.Root, "the facts file", "is empty", "a map of kind Facts")
	}
	var d document
	at := r.Decode(doc.Root, "the facts file", problem.InvalidValue, &d)
	for i, c := range d.Clusters {
		if j.isNew(at.Item("clusters", i), "cluster", c.Name, listed{file: file, cluster: c}) {
			j.clusters = append(j.clusters, c)
		}
	}
	take := func(to *[]Application, key string, list []Application, what, kind string, foreign ...string) {
		for i, a := range list {
			at := at.Item(key, i)
			for _, k := range foreign {
				if at.Has(k) {
					at.AddAt(problem.UnknownKey, at.Pos(k), fmt.Sprintf("key %q", k), "not known in a "+what, "")
				}
			}
			j.hasHealth = j.hasHealth || kind == "" && at.Has("healthy")
			if a.Kind = kind; j.isNew(at, what, a.Name, listed{file: file, object: a}) {
				*to = append(*to, a)
			}
		}
	}
	take(&j.applications, "applications", d.Applications, "application", "", "owner", "suspended")
	take(&j.releases, "helmReleases", d.HelmReleases, "HelmRelease", "", "controller", "grant")
	take(&j.releases, "kustomizations", d.Kustomizations, Kustomization, Kustomization, "controller", "grant")
	applications, releases := at.Has("applications"), at.Has("helmReleases") || at.Has("kustomizations")
	j.hasApplications, j.hasReleases = j.hasApplications || applications, j.hasReleases || releases
	if file == 0 {
		j.first, j.isClosed, j.hasEngines = f.Name, d.Closed, applications || releases
	}
	j.alike(at, j.isClosed, d.Closed, "closed: true", "it in all files of facts, or in none")
	j.alike(at, j.hasEngines, applications || releases, "what the engine has", "applications, helmReleases or kustomizations in all files of facts, or in none")
	return r.Err()
}

// isNew reports whether an element is to be added. It reports one that the file has twice, or that
// differs between two files.
func (j *joiner) isNew(at yamldoc.At, what, name string, l listed) bool {
	subject := fmt.Sprintf("%s %q", what, name)
	l.pos = at.Node.Pos()
	first, isKnown := j.seen[subject]
	switch {
	case name == "": // reported
		return false
	case isKnown && first.file == l.file:
		at.AddAt(problem.InvalidValue, l.pos, subject, "listed twice, first at "+first.pos.String(), "each "+what+" once")
	case isKnown:
		if differs := first.difference(l); differs != "" {
			at.AddAt(problem.InvalidValue, l.pos, subject, fmt.Sprintf("is not as at %s: %s", first.pos, differs), "the same in both files, or one file with it")
		}
	default:
		j.seen[subject] = l
	}
	return !isKnown
}

// alike reports a file where only it or only the first file says something of itself.
func (j *joiner) alike(at yamldoc.At, first, here bool, subject, expected string) {
	switch {
	case here && !first:
		at.Add(problem.InvalidValue, at.Node, subject, "is said here, and not by "+j.first, expected)
	case !here && first:
		at.Add(problem.InvalidValue, at.Node, subject, "is said by "+j.first+", and not here", expected)
	}
}

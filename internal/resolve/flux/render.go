package flux

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/registration"
)

// ClusterInfo is the name of the ConfigMap with a cluster's facts.
const ClusterInfo = fleetstate.ClusterInfo

// interval is how often Flux looks after each object by itself. A change of the artifact is applied
// at once.
const interval = "10m"

// retryInterval is how soon Flux retries what Helm failed to do: a chart may wait for the
// definitions of another chart.
const retryInterval = "30s"

// maxObject limits an object's text: etcd takes about 1.5 MiB, and ConfigMaps are limited to 1 MiB.
const maxObject = 1 << 20

// File is one file of an artifact.
type File struct {
	Name string
	Data []byte

	deployed []Object
}

// Render writes what an engine runs as Flux's objects: one file for each component and one for what
// they share, sorted by name. With an error of the engine's own cluster there are no files; another
// cluster with an error is left out.
func Render(o Owned) ([]File, []problem.Problem) {
	files, problems := render(o)
	for found := problem.Errors(problems); files == nil; {
		faulty := map[string]bool{}
		for _, p := range found {
			if p.Cluster == "" || p.Cluster == o.Self.Name {
				return nil, problems
			}
			faulty[p.Cluster] = true
		}
		isFaulty := func(c paramset.ComponentSet) bool { return faulty[c.Name] }
		left := len(o.Components) + len(o.Registrations)
		o.Components = slices.DeleteFunc(slices.Clone(o.Components), isFaulty)
		o.Registrations = slices.DeleteFunc(slices.Clone(o.Registrations), isFaulty)
		if len(o.Components)+len(o.Registrations) == left {
			return nil, problems
		}
		var more []problem.Problem
		if files, more = render(o); files == nil { // of names that three have
			found = problem.Errors(more)
			problems = problem.Sorted(append(problems, found...))
		}
	}
	return files, problems
}

// render writes what an engine runs. With a problem of severity error there are no files.
func render(o Owned) ([]File, []problem.Problem) {
	r := renderer{owned: o, order: newOrder(o.Components), shared: map[string]object{}, users: map[string][]paramset.ComponentSet{}}
	if o.Self.Name != "" {
		r.info = r.clusterInfo(ClusterInfo, o.Self)
	}
	var parts []part
	for i, c := range o.Components {
		parts = append(parts, part{"components/" + c.ApplicationName + ".yaml", &o.Components[i], r.component(c, r.isOnOwn(c))})
	}
	for i, c := range o.Registrations {
		parts = append(parts, part{"registrations/" + c.ApplicationName + ".yaml", &o.Registrations[i], r.component(c, true)})
	}
	if o.Self.Name != "" {
		parts = append(parts, part{ClusterInfo + ".yaml", nil, []object{r.info}})
	}
	for name, x := range r.shared {
		parts = append(parts, part{name, nil, []object{x}})
	}
	r.uniqueNames(parts)
	parts = r.removals(parts)
	out := make([]File, 0, len(parts)+1)
	for _, p := range parts {
		data, err := write(p.objects)
		if err != nil {
			r.oversized(p, err)
		}
		var deployed []Object
		if p.of != nil {
			deployed = deployedBy(*p.of, p.objects)
		}
		out = append(out, File{p.file, data, deployed})
	}
	if len(problem.Errors(r.problems)) > 0 {
		return nil, problem.Sorted(r.problems)
	}
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return append(out, kustomization(out)), problem.Sorted(r.problems)
}

// oversized reports a part that is too large, of each cluster that it is for.
func (r *renderer) oversized(p part, err error) {
	users := r.users[p.file]
	if p.of != nil {
		users = []paramset.ComponentSet{*p.of}
	}
	for _, c := range users {
		r.fault(c, problem.LimitExceeded, p.file, err.Error(), "")
	}
	if len(users) == 0 {
		r.problems = append(r.problems, problem.Problem{Reason: problem.LimitExceeded, Severity: problem.Error, Subject: p.file, Found: err.Error(), Hub: r.owned.Hub, Cluster: r.owned.Self.Name})
	}
}

// share adds an object that several components may need.
func (r *renderer) share(c paramset.ComponentSet, file string, x object) {
	r.shared[file] = x
	r.users[file] = append(r.users[file], c)
}

// kustomization lists the files: without it, kustomize-controller makes one of all YAML that it
// finds.
func kustomization(files []File) File {
	resources := make([]any, len(files))
	for i, f := range files {
		resources[i] = f.Name
	}
	data, _ := yamldoc.FromAny(nil, object{ // only texts
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources,
	}).YAML()
	return File{Name: "kustomization.yaml", Data: data}
}

// object is a Kubernetes object, of the types that encoding/json decodes into.
type object = map[string]any

type renderer struct {
	owned    Owned
	info     object // the facts of the engine's own cluster
	order    *order
	shared   map[string]object // by file
	users    map[string][]paramset.ComponentSet
	problems []problem.Problem
}

func (r *renderer) fault(c paramset.ComponentSet, reason problem.Reason, subject, found, expected string, path ...string) {
	r.report(c, problem.Error, reason, subject, found, expected, path...)
}

// report adds a problem of a component, at a key of its catalog entry.
func (r *renderer) report(c paramset.ComponentSet, severity problem.Severity, reason problem.Reason, subject, found, expected string, path ...string) {
	p := problem.Problem{
		Reason: reason, Severity: severity, Subject: subject, Found: found, Expected: expected, Hub: c.Hub, Cluster: c.Name,
	}
	if r.owned.st != nil {
		p.Pos = EntryPos(r.owned.st, c.Hub, c.Name, c.Group, c.Component, path...)
	}
	r.problems = append(r.problems, p)
}

// isOnOwn reports whether a component runs on the engine's own cluster: it is of that cluster, or
// makes another one.
func (r *renderer) isOnOwn(c paramset.ComponentSet) bool {
	return c.Name == r.owned.Self.Name || c.Group == provision.Group
}

// component returns a component's objects, each before the objects that use it. Own tells whether
// it runs on the engine's own cluster. Otherwise Helm makes the namespace, on the other cluster.
func (r *renderer) component(c paramset.ComponentSet, own bool) []object {
	var out []object
	for _, name := range slices.Sorted(maps.Keys(c.Companions)) {
		out = append(out, r.component(companionOf(c, name), own)...)
	}
	if c.Kind == catalog.KindManifests {
		return append(out, r.manifests(c, own)...)
	}
	r.check(c)
	if own && c.Team == "" {
		r.ownNamespace(c)
	}
	key, values := r.values(c)
	spec := object{
		"interval": interval, "timeout": "10m",
		"releaseName": c.ReleaseName, "targetNamespace": c.Namespace, "storageNamespace": c.Namespace,
		"install":        action(!own && c.Team == ""),
		"upgrade":        action(false),
		"driftDetection": drift(),
		"valuesFrom":     []any{object{"kind": "ConfigMap", "name": c.ApplicationName, "valuesKey": key}},
	}
	r.access(c, own, spec)
	if len(c.ReleaseName) > 53 || len(validation.IsDNS1123Subdomain(c.ReleaseName)) > 0 {
		r.fault(c, problem.UnsupportedEngine, fmt.Sprintf("releaseName %q of component %q", c.ReleaseName, c.Component), "is not one that Flux takes", "a DNS-1123 name of at most 53 characters", "releaseName")
	}
	r.dependsOn(c, spec)
	source := r.source(c, spec)
	out = append(out, values)
	if source != nil {
		out = append(out, source)
	}
	return sealed(append(out, object{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": r.metadata(c.ApplicationName, c), "spec": spec,
	}), c)
}

// companionOf returns a further chart of a component as a component, with its labels.
func companionOf(c paramset.ComponentSet, name string) paramset.ComponentSet {
	one := c.Companions[name]
	c.ApplicationName = companionName(c, name)
	c.Chart, c.ReleaseName, c.HelmValues, c.ValueFiles = one.Chart, one.ReleaseName, one.HelmValues, one.ValueFiles
	c.Kind, c.DependsOn, c.Companions = "", nil, nil
	return c
}

// companionName returns the name of a companion's HelmRelease.
func companionName(c paramset.ComponentSet, name string) string {
	return catalog.ApplicationName(c.Component+"-"+name, c.Name)
}

// action says how Helm installs or upgrades: it retries, and does not uninstall.
func action(createNamespace bool) object {
	out := object{
		"crds":     "CreateReplace",
		"strategy": object{"name": "RetryOnFailure", "retryInterval": retryInterval},
	}
	if createNamespace {
		out["createNamespace"] = true
	}
	return out
}

// drift has Flux correct drift, as Argo CD's self-healing does, except replicas, which an
// autoscaler may set.
func drift() object {
	return object{"mode": "enabled", "ignore": []any{object{"paths": []any{"/spec/replicas"}}}}
}

// values returns the ConfigMap with a component's values, and their key in it.
func (r *renderer) values(c paramset.ComponentSet) (key string, x object) {
	key = "values-" + digest(c.HelmValues) + ".yaml"
	if len(c.HelmValues) > maxObject-4096 {
		r.fault(c, problem.LimitExceeded, fmt.Sprintf("component %q", c.Component), fmt.Sprintf("has %d bytes of values", len(c.HelmValues)),
			fmt.Sprintf("at most %d, the size of a ConfigMap", maxObject-4096), "values")
	}
	return key, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": r.metadata(c.ApplicationName, c), "data": object{key: c.HelmValues}}
}

// everywhere are namespaces that every cluster has; they are not ours to label.
var everywhere = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// ownNamespace adds a component's namespace on the engine's own cluster.
func (r *renderer) ownNamespace(c paramset.ComponentSet) {
	if c.Namespace != registration.FluxNamespace && !slices.Contains(everywhere, c.Namespace) {
		r.share(c, "namespaces/"+c.Namespace+".yaml", r.namespace(c))
	}
}

// namespace returns a component's namespace: made if it is not there, otherwise left as it is.
func (r *renderer) namespace(c paramset.ComponentSet) object {
	return object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{
		"name":        c.Namespace,
		"labels":      object{labelManagedBy: managedBy, labelCluster: c.Name},
		"annotations": object{annotationPrune: disabled, annotationSubstitute: disabled, annotationApply: "IfNotPresent"},
	}}
}

// Labels and annotations of the objects.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "argosy"
	labelCluster   = "argosy.dev/cluster"
	// labelSourceHost is the host of a source. A tenant may name any, so charts/agent-flux chooses
	// the sources of a Secret by it.
	labelSourceHost = "argosy.dev/source-host"

	annotationPrune      = facts.PruneAnnotation
	annotationSubstitute = "kustomize.toolkit.fluxcd.io/substitute"
	annotationApply      = "kustomize.toolkit.fluxcd.io/ssa"
	disabled             = facts.PruneDisabled
)

func (r *renderer) metadata(name string, c paramset.ComponentSet) object {
	labels := object{
		labelManagedBy: managedBy, labelCluster: c.Name, "argosy.dev/group": c.Group, "argosy.dev/component": c.Component,
		facts.HubLabel: r.owned.Hub, facts.OwnerLabel: r.owned.Owner,
	}
	if c.Release != "" && len(validation.IsValidLabelValue(c.Release)) == 0 {
		labels["argosy.dev/release"] = c.Release
	}
	return r.named(name, labels)
}

func (r *renderer) named(name string, labels object) object {
	return object{
		"name": name, "namespace": registration.FluxNamespace, "labels": labels,
		"annotations": object{annotationPrune: disabled, annotationSubstitute: disabled},
	}
}

// write writes objects as a stream of YAML documents.
func write(objects []object) ([]byte, error) {
	var out []byte
	for _, x := range objects {
		data, err := yamldoc.FromAny(nil, x).YAML()
		if err != nil {
			return nil, err
		}
		if len(data) > maxObject+maxObject/4 { // room for escapes and indentation
			return nil, fmt.Errorf("an object of %d bytes; expected at most %d", len(data), maxObject)
		}
		out = append(append(out, "---\n"...), data...)
	}
	return out, nil
}

func digest(text string) string { return hexDigest(text)[:12] }

func hexDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// sharedName returns a readable name for an address, with a digest so that no other address can
// have the name.
func sharedName(prefix, address string) string {
	_, short, found := strings.Cut(address, "://")
	if !found {
		short = address
	}
	short = strings.Trim(unfit.ReplaceAllString(strings.ToLower(short), "-"), "-")
	return prefix + "-" + strings.TrimRight(short[:min(len(short), 40)], "-") + "-" + hexDigest(address)[:32]
}

// Lint reports what Flux could not express of the components that hubs and members with an engine
// flux run. It also reports possible mistakes.
func Lint(st *fleetstate.State) []problem.Problem {
	var out []problem.Problem
	for _, hub := range st.Fleet.Hubs() {
		for _, m := range st.Fleet.Members(hub) {
			if !m.Remote && !m.IsHub || m.Engine != fleet.EngineFlux || m.Lifecycle == fleet.Retired {
				continue
			}
			owned, err := OwnedBy(st, hub, m.Name)
			if err != nil {
				continue // one of the state's own problems
			}
			_, problems := Render(owned)
			out = append(out, problems...)
		}
	}
	return out
}

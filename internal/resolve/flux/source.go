package flux

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/registration"
)

const sourceAPI = "source.toolkit.fluxcd.io/v1"

// maxCoordinate limits each of a chart's coordinates, with "./" before a path
// (fluxcd/helm-controller v1.6.4, HelmChartTemplateSpec).
const maxCoordinate = 2048 - len("./")

// check reports a namespace and chart coordinates that an API server refuses, which would stop the
// whole artifact: Flux's patterns of addresses do not match a line break. Only manifests may have
// no namespace.
func (r *renderer) check(c paramset.ComponentSet) {
	if len(validation.IsDNS1123Label(c.Namespace)) > 0 && (c.Namespace != "" || c.Kind != catalog.KindManifests) {
		r.fault(c, problem.UnsupportedEngine, fmt.Sprintf("namespace %q of component %q", c.Namespace, c.Component), "is not one that Kubernetes takes", "a DNS-1123 label", "namespace")
	}
	for _, text := range c.Chart.Texts() {
		value, key := *text.To, text.Path[len(text.Path)-1]
		var found, expected string
		switch isAddress := text.To == &c.Chart.RepoURL || text.To == &c.Chart.Name; {
		case len(value) > maxCoordinate:
			found, expected = fmt.Sprintf("has a chart.%s of %d bytes", key, len(value)), fmt.Sprintf("at most %d", maxCoordinate)
		case isAddress && strings.ContainsFunc(value, func(x rune) bool { return unicode.IsSpace(x) || unicode.IsControl(x) }):
			found, expected = fmt.Sprintf("chart.%s %q has a space or a control character", key, value), "none"
		default:
			continue
		}
		r.unsupported(c, found, expected, text.Path...)
	}
}

// unsupported reports what Flux cannot express of a component, and returns no source.
func (r *renderer) unsupported(c paramset.ComponentSet, found, expected string, path ...string) object {
	r.fault(c, problem.UnsupportedEngine, fmt.Sprintf("component %q of group %q", c.Component, c.Group), found, expected, path...)
	return nil
}

// source writes the chart's place into a HelmRelease's spec, and returns the source of its own that
// it needs, if any.
func (r *renderer) source(c paramset.ComponentSet, spec object) object {
	chart := c.Chart
	scheme, _, hasScheme := strings.Cut(chart.RepoURL, "://")
	switch {
	case chart == (catalog.Chart{}):
		return r.unsupported(c, "has no chart", "chart coordinates: Flux's members have no ApplicationSets to give them", "chart")
	case chart.Path != "":
		spec["chart"] = object{"spec": object{
			"chart": "./" + strings.TrimPrefix(chart.Path, "./"), "interval": interval,
			// A folder in Git changes without a new version of the chart.
			"reconcileStrategy": "Revision",
			"sourceRef":         object{"kind": "GitRepository", "name": c.ApplicationName},
		}}
		return r.gitRepository(c)
	case !hasScheme: // a registry (release.WithoutScheme)
		spec["chartRef"] = object{"kind": "OCIRepository", "name": c.ApplicationName}
		return object{"apiVersion": sourceAPI, "kind": "OCIRepository", "metadata": r.metadata(c.ApplicationName, c), "spec": object{
			"url": "oci://" + strings.TrimRight(chart.RepoURL, "/") + "/" + chart.Name, "interval": interval, "ref": ociRef(chart.Version),
			"layerSelector": object{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy"},
		}}
	case scheme == "https" || scheme == "http":
		name := sharedName("helm", chart.RepoURL)
		file := "repositories/" + name + ".yaml"
		if other, is := r.shared[file]["spec"].(object); is && other["url"] != chart.RepoURL {
			return r.unsupported(c, fmt.Sprintf("chart.repoURL %q has the digest of %q", chart.RepoURL, other["url"]), "another address", "chart", "repoURL")
		}
		r.share(c, file, object{
			"apiVersion": sourceAPI, "kind": "HelmRepository",
			"metadata": r.named(name, object{labelManagedBy: managedBy, labelSourceHost: sourceHost(chart.RepoURL)}),
			"spec":     object{"url": chart.RepoURL, "interval": interval},
		})
		spec["chart"] = object{"spec": object{
			"chart": chart.Name, "version": chart.Version, "interval": interval,
			"sourceRef": object{"kind": "HelmRepository", "name": name},
		}}
		return nil
	}
	return r.unsupported(c, fmt.Sprintf("chart.repoURL %q is not one that Flux reads charts from", chart.RepoURL), "https://, http://, or a registry without a scheme", "chart", "repoURL")
}

// gitRepository returns the source of a component that is a folder in Git, nil where Flux cannot
// read it.
func (r *renderer) gitRepository(c paramset.ComponentSet) object {
	url, ok := gitURL(c.Chart.RepoURL)
	if !ok {
		return r.unsupported(c, fmt.Sprintf("chart.repoURL %q is not one that Flux reads Git from", c.Chart.RepoURL), "https://, http:// or ssh://", "chart", "repoURL")
	}
	if c.Chart.Version == "HEAD" { // for Argo CD, the default branch; Flux has no word for it
		r.report(c, problem.Warning, problem.UnsupportedEngine, fmt.Sprintf("component %q of group %q", c.Component, c.Group), `chart.version "HEAD" is a branch of that name to Flux`, "the name of the branch", "chart", "version")
	}
	repository := object{"url": url, "interval": interval, "timeout": "1m", "ref": gitRef(c.Chart.Version)}
	r.gitCredentials(c, c.Chart.RepoURL, repository)
	metadata := r.metadata(c.ApplicationName, c)
	if all, ok := metadata["labels"].(object); ok {
		all[labelSourceHost] = sourceHost(url)
	}
	return object{"apiVersion": sourceAPI, "kind": "GitRepository", "metadata": metadata, "spec": repository}
}

// sourceHost returns the value of labelSourceHost: the digest of a host, which may have a port.
func sourceHost(url string) string {
	return hexDigest(registration.HostOf(strings.ToLower(url)))[:32]
}

// gitCredentials names the Secret that charts/fleet-secret makes for Argo CD, with the credentials
// of a repository. Flux reads the same keys of a user and token, and of a GitHub App, but not of a
// deploy key.
func (r *renderer) gitCredentials(c paramset.ComponentSet, url string, spec object) {
	secret, found := registration.GitSecretFor(r.owned.GitSecrets[c.Name], url)
	switch {
	case !found, c.Group == fleetstate.FleetGroup && c.Component == fleetstate.Registration: // the registration makes the Secret
		return
	case secret.Type == "githubApp":
		spec["provider"] = "github"
	case secret.Type != "http":
		r.problems = append(r.problems, problem.Problem{
			Reason: problem.UnsupportedEngine, Severity: problem.Warning, Pos: secret.Pos, Hub: c.Hub, Cluster: c.Name,
			Subject: fmt.Sprintf("Git credentials %s", secret.Name), Found: fmt.Sprintf("are of type %q: Flux does not know its keys, and reads %s without", secret.Type, url),
			Expected: "type http or githubApp", Hints: []string{"or a Secret of your own, named in credentials.gitRepositories of charts/agent-flux"},
		})
		return
	}
	spec["secretRef"] = object{"name": secret.Name}
}

var (
	scpLike    = regexp.MustCompile(`^([^/:@]+@[^/:]+):([^/].*)$`)
	objectName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// gitURL returns a repository's address as Flux takes it: `git@host:path` is ssh://git@host/path.
func gitURL(address string) (string, bool) {
	if m := scpLike.FindStringSubmatch(address); m != nil {
		return "ssh://" + m[1] + "/" + m[2], true
	}
	for _, scheme := range []string{"https://", "http://", "ssh://"} {
		if strings.HasPrefix(address, scheme) {
			return address, true
		}
	}
	return "", false
}

// gitRef returns the kind of a revision, which Flux needs and Argo CD does not: a commit by its
// form, a full reference, a version for a tag, a range of versions for the newest such tag, else a
// branch.
func gitRef(revision string) object {
	switch {
	case objectName.MatchString(revision):
		return object{"commit": revision}
	case strings.HasPrefix(revision, "refs/"):
		return object{"name": revision}
	case isVersion(revision):
		return object{"tag": revision}
	case isRange(revision):
		return object{"semver": revision}
	}
	return object{"branch": revision}
}

// ociRef returns a chart's version in a registry: Helm writes "+" as "_", as tags have none.
func ociRef(version string) object {
	if !isVersion(version) && isRange(version) {
		return object{"semver": version}
	}
	return object{"tag": strings.ReplaceAll(version, "+", "_")}
}

// isVersion reports whether a text is a full version, with or without "v". A shorter one, as 1 or
// 1.2, may as well be the name of a branch.
func isVersion(s string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(s, "v"))
	return err == nil
}

// isRange reports whether a text can only be a range: words such as "main", and "x", are not.
func isRange(s string) bool {
	if !strings.ContainsAny(s, "*<>=~^|") && !strings.Contains(s, ".x") {
		return false
	}
	_, err := semver.NewConstraint(s)
	return err == nil
}

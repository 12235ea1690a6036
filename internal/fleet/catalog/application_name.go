package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/labels"
)

// maxName is the limit of an Application's name: Kubernetes' label values, where Argo CD writes it
// by default.
const maxName = 63

// maxRelease is the limit of a Helm release's name.
const maxRelease = 53

// MaxComponent is the limit of a component's name in the values of charts/application-sets
// (values.schema.json). With a longer one Argo CD renders nothing of the release.
const MaxComponent = 53

const hashLength = 8

// unfit are the characters that an object's name cannot have.
var unfit = regexp.MustCompile(`[^a-z0-9.-]+`)

// ApplicationName is `<prefix>-<suffix>`, at most 63 characters: what is longer is cut, and ends in
// a hash of the full name, so that two names never become one by being cut (rule N1). The same goes
// for a suffix that is no name: the type of a release is a label's value, which may have capitals
// and underscores.
func ApplicationName(prefix, suffix string) string {
	return cutName(prefix+"-"+suffix, maxName)
}

// HelmReleaseName is the name of a Helm release for a cluster, where those of several clusters are
// in one namespace.
func HelmReleaseName(prefix, cluster string) string { return cutName(prefix+"-"+cluster, maxRelease) }

// cutName is a name of at most limit characters for a full one.
func cutName(full string, limit int) string {
	if len(full) <= limit && (labels.IsName(full) || len(validation.IsDNS1123Subdomain(full)) == 0) {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	name := unfit.ReplaceAllString(strings.ToLower(full), "-")
	return strings.TrimRight(name[:min(len(name), limit-hashLength-1)], "-.") + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

var cutEnd = regexp.MustCompile(`-[0-9a-f]{8}$`)

// CutStem is what a name begins with that may have been cut from a longer one; false for any other.
func CutStem(name string) (stem string, is bool) {
	at := cutEnd.FindStringIndex(name)
	if at == nil {
		return "", false
	}
	return name[:at[0]], true
}

// ReleaseApplicationPrefix begins the names of the Applications of releases.
const ReleaseApplicationPrefix = "application-sets-"

// GrantPrefix and a group begin the names of grants' Applications.
const GrantPrefix = "grant"

// ReleaseApplicationName is the name of the Application of a group's release.
func ReleaseApplicationName(group, release string) string {
	return ApplicationName(ReleaseApplicationPrefix+group, release)
}

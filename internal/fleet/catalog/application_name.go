package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/labels"
)

// maxName is the limit of an Application's name, which Argo CD by default also writes as a label's
// value: Kubernetes allows those 63 characters.
const maxName = 63

// maxRelease is the limit of a Helm release's name.
const maxRelease = 53

// MaxComponent is the limit of a component's name in the values of charts/application-sets
// (values.schema.json). With a longer one Argo CD renders nothing of the release.
const MaxComponent = 53

const hashLength = 8

// unfit are the characters that an object's name cannot have.
var unfit = regexp.MustCompile(`[^a-z0-9.-]+`)

// ApplicationName returns `<prefix>-<suffix>`, at most 63 characters. A longer name is cut and ends
// in a hash of the full name, so that two names never become one by being cut. So is a suffix that
// cannot be in a name: the type of a release is a label's value, which may have capitals and
// underscores.
func ApplicationName(prefix, suffix string) string {
	return cutName(prefix+"-"+suffix, maxName)
}

// HelmReleaseName returns the name of a Helm release for a cluster, where releases of several
// clusters are in one namespace.
func HelmReleaseName(prefix, cluster string) string { return cutName(prefix+"-"+cluster, maxRelease) }

// cutName cuts a full name to at most limit characters.
func cutName(full string, limit int) string {
	if len(full) <= limit && (labels.IsName(full) || len(validation.IsDNS1123Subdomain(full)) == 0) {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	name := unfit.ReplaceAllString(strings.ToLower(full), "-")
	return strings.TrimRight(name[:min(len(name), limit-hashLength-1)], "-.") + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

var cutEnd = regexp.MustCompile(`-[0-9a-f]{8}$`)

// CutStem returns the beginning of a name that may have been cut from a longer one; false for any
// other name.
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

// ReleaseApplicationName returns the name of the Application of a group's release.
func ReleaseApplicationName(group, release string) string {
	return ApplicationName(ReleaseApplicationPrefix+group, release)
}

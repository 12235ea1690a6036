package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Common is what every parameter set has, but for `digest` and `revision`, which encode adds. Name is the cluster that
// the Application is deployed to.
type Common struct {
	Name            string          `json:"name"`
	NameNormalized  string          `json:"nameNormalized"`
	Server          string          `json:"server"`
	Tenant          string          `json:"tenant"`
	Environment     string          `json:"environment"`
	Hub             string          `json:"hub"`
	Model           string          `json:"model"`
	Metadata        json.RawMessage `json:"metadata"`
	ApplicationName string          `json:"applicationName"`
	// Quarantine tells why the set is the last good one of a member that cannot be computed; absent from all others (rule 10).
	Quarantine string `json:"quarantine,omitempty"`
	// revision is what the set is computed from, where that is not the State's.
	revision string
}

// MemberSet is one element of the answer to view members.
type MemberSet struct {
	Common
	SecretManagerSecretName string            `json:"secretManagerSecretName"`
	SecretLabels            map[string]string `json:"secretLabels"`
	SecretAnnotations       map[string]string `json:"secretAnnotations"`
	Release                 map[string]any    `json:"release"`
	Source                  any               `json:"source"`
	HelmValues              string            `json:"helmValues"`
	ValueFiles              []string          `json:"valueFiles"`
	Deletion                string            `json:"deletion"`
}

// ReleaseSet is one element of the answer to view releases.
type ReleaseSet struct {
	Common
	Group      string         `json:"group"`
	Release    map[string]any `json:"release"`
	Source     any            `json:"source"`
	Clusters   []string       `json:"clusters"`
	HelmValues string         `json:"helmValues"`
}

// ComponentSet is one element of the answer to view components. Kind and what follows it are absent for a plain chart.
type ComponentSet struct {
	Common
	Component   string   `json:"component"`
	Group       string   `json:"group"`
	Release     string   `json:"release"`
	Chart       Chart    `json:"chart"`
	Namespace   string   `json:"namespace"`
	ReleaseName string   `json:"releaseName"`
	HelmValues  string   `json:"helmValues"`
	ValueFiles  []string `json:"valueFiles"`
	Deletion    string   `json:"deletion"`
	// Kind is KindManifests for a folder in Git, Chart.Path, that is applied as it is.
	Kind string `json:"kind,omitempty"`
	// DependsOn are components of the same cluster that Flux waits for, Substitute has Flux put the facts for variables.
	DependsOn  []string `json:"dependsOn,omitempty"`
	Substitute bool     `json:"substitute,omitempty"`
}

// AgentSet is one element of the answer to view agents.
type AgentSet struct {
	Common
	Engine     string            `json:"engine"`
	Flags      map[string]string `json:"flags"`
	Groups     []string          `json:"groups"`
	HelmValues string            `json:"helmValues"`
	// CredentialValues are the values of charts/fleet-secret on the member: the credentials of what it reads.
	CredentialValues string `json:"credentialValues"`
	// Components are the merged components that a flux agent runs; absent for argocd, whose engine asks by itself.
	Components []ComponentSet `json:"components,omitempty"`
	Deletion   string         `json:"deletion"`
}

// common gives access to the fields that all sets share.
func (c *Common) common() *Common { return c }

// ParameterSet is one element of a response.
type ParameterSet interface{ common() *Common }

// encodedSet is a set as JSON. A set of the State's own revision is without it: it belongs where hole is, which is 0 for
// a set that has another one, and has it.
type encodedSet struct {
	text    []byte
	hole    int
	subject Subject
}

// digestSize is the length of a digest.
const digestSize = 32

// revisionField is what belongs into holes.
func revisionField(revision string) []byte {
	text, err := EncodeJSON(revision)
	if err != nil {
		panic(err) //nolint:forbidigo // texts can always be written
	}
	return slices.Concat([]byte(`"revision":`), text, []byte{','})
}

// encode is a set as JSON, followed by its revision and by the digest of all that is before it.
func encode(s ParameterSet) (encodedSet, *Error) {
	text, err := EncodeJSON(s)
	if err != nil {
		return encodedSet{}, &Error{Kind: Unavailable, Message: fmt.Sprintf("cluster %q: %v", s.common().Name, err)}
	}
	end := `"digest":"` + digest(text) + `"}`
	text[len(text)-1] = ','
	if revision := s.common().revision; revision != "" {
		return encodedSet{text: slices.Concat(text, revisionField(revision), []byte(end)), subject: subject(s)}, nil
	}
	return encodedSet{text: slices.Concat(text, []byte(end)), hole: len(text), subject: subject(s)}, nil
}

func (e encodedSet) total() total {
	t := total{sets: 1, size: len(e.text)}
	if e.hole > 0 {
		t.holes = 1
	}
	return t
}

// digest is the set's.
func (e encodedSet) digest() []byte {
	end := len(e.text) - len(`"}`)
	return e.text[end-digestSize : end]
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

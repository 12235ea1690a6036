package paramset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/argosy-hub/argosy/internal/fleet/catalog"
)

// Common is what every parameter set has, but for `digest` and `revision`, which encode adds. Name
// is the cluster that the Application is deployed to.
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
	// Revision is what the set is computed from, where that is not the State's, and Hold the
	// reason; the encoding adds them.
	Revision string `json:"-"`
	Hold     string `json:"-"`
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

// ComponentSet is one element of the answer to view components. Kind and what follows it are absent
// for a plain chart.
type ComponentSet struct {
	Common
	Component   string        `json:"component"`
	Group       string        `json:"group"`
	Release     string        `json:"release"`
	Chart       catalog.Chart `json:"chart"`
	Namespace   string        `json:"namespace"`
	ReleaseName string        `json:"releaseName"`
	HelmValues  string        `json:"helmValues"`
	ValueFiles  []string      `json:"valueFiles"`
	Deletion    string        `json:"deletion"`
	// Kind is KindManifests for a folder in Git, Chart.Path, that is applied as it is.
	Kind string `json:"kind,omitempty"`
	// DependsOn are components of the same cluster that it waits for, Substitute has Flux put the
	// facts for variables.
	DependsOn  []string `json:"dependsOn,omitempty"`
	Substitute bool     `json:"substitute,omitempty"`
	// Companions are further charts of the component, by name.
	Companions map[string]CompanionSet `json:"companions,omitempty"`
	// Team is the team of an application; Argo CD's ApplicationSets have it in their project.
	Team string `json:"-"`
}

// Recipe is a short digest of what is deployed: chart, namespace and values. It leaves out what
// only one service knows: a hub and its agent have the same for the same commit and labels.
func (s ComponentSet) Recipe() string {
	s.Common, s.Deletion = Common{}, ""
	text, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// CompanionSet is a further chart of a component.
type CompanionSet struct {
	Chart       catalog.Chart `json:"chart"`
	ReleaseName string        `json:"releaseName"`
	HelmValues  string        `json:"helmValues"`
	ValueFiles  []string      `json:"valueFiles"`
}

// AgentSet is one element of the answer to view agents.
type AgentSet struct {
	Common
	Engine     string            `json:"engine"`
	Flags      map[string]string `json:"flags"`
	Groups     []string          `json:"groups"`
	HelmValues string            `json:"helmValues"`
	// CredentialValues are the values of charts/fleet-secret on the member: the credentials of what
	// it reads.
	CredentialValues string `json:"credentialValues"`
	// Components are the merged components that a flux agent runs; absent for argocd, whose engine
	// asks by itself.
	Components []ComponentSet `json:"components,omitempty"`
	Deletion   string         `json:"deletion"`
}

// Shared are the fields that all sets have.
func (c *Common) Shared() *Common { return c }

// Set is one element of a response.
type Set interface{ Shared() *Common }

package placement

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
)

// Engines are the components of the group fleet that install an agent's engine, by engine.
var Engines = map[string]string{fleet.EngineArgoCD: "argo-cd", fleet.EngineFlux: "flux2"}

// FlagRemote makes a member an agent.
const FlagRemote = "use_remote_argo"

// ExternalEngineHint says how a member file names an engine that the hub does not bring.
const ExternalEngineHint = "where the engine is there by other means, say so: annotations: {" + engineAnnotation + ": " + engineIsExternally + "}"

const (
	keyEngine          = "remote_engine"
	flagSecrets        = "use_external_secrets"
	flagACK            = "use_fleet_ack"
	flagIngress        = "use_argocd_ingress"
	secretsOperator    = "external-secrets"
	argoCDIngress      = "argocd-ingress"
	labelTrue          = "true"
	engineAnnotation   = "argosy.dev/engine"
	engineIsExternally = "external"
	// ExternalEngine is the annotation of a member whose engine the hub does not bring.
	ExternalEngine = engineAnnotation + "=" + engineIsExternally
)

// bringing has, by component of the group fleet, the flag that brings it to a member.
var bringing = map[string]string{
	Engines[fleet.EngineArgoCD]: FlagRemote, Engines[fleet.EngineFlux]: FlagRemote, secretsOperator: flagSecrets,
	"ack-ec2": flagACK, "ack-eks": flagACK, "ack-iam": flagACK, argoCDIngress: flagIngress,
}

// Bringing says whether a flag of a member brings a component of the group fleet to it.
type Bringing int

const (
	// Unsaid means that no flag decides: the catalogs and their selectors do.
	Unsaid Bringing = iota
	// Brought means that a flag brings the component, without a further label.
	Brought
	// Declined means that Git, or the live cluster Secret, says that the flag is off, or that the
	// engine is another one.
	Declined
)

// IsOfAgent reports whether a component of the group fleet is what an agent deploys with: an
// engine, or the operator that brings its credentials.
func IsOfAgent(component string) bool {
	return component == secretsOperator || IsEngine(component)
}

// IsEngine reports whether a component of the group fleet installs an agent's engine.
func IsEngine(component string) bool { return bringing[component] == FlagRemote }

// BroughtComponents are the components that flags bring, sorted.
func BroughtComponents() []string { return slices.Sorted(maps.Keys(bringing)) }

// BringingFlag is the flag that brings a component, and the key of the member file that switches it
// on; both are empty for a component that no flag brings.
func BringingFlag(m *fleet.Member, component string) (flag, key string) {
	flag, key = bringing[component], bringing[component]
	switch {
	case component == Engines[fleet.EngineFlux]:
		key = keyEngine
	case flag == flagSecrets && m.KeyPos(flagSecrets).Line == 0 && m.Remote:
		key = FlagRemote // its default
	}
	return flag, key
}

// Brings reports whether a flag brings a component of the group fleet to the member, whose labels
// and annotations these are. A flag may be a label of the hierarchy, for many members.
func Brings(m *fleet.Member, component string, labels, annotations map[string]string) Bringing {
	flag := bringing[component]
	value, said := labels[flag]
	switch {
	case flag == "":
		return Unsaid
	case flag == FlagRemote:
		return bringsEngine(m, component, labels, annotations)
	case flag == flagSecrets && m.Remote && m.UseExternalSecrets:
		return Brought
	case flag == flagIngress && value == labelTrue && !m.IsHub && !(m.Remote && m.Engine == fleet.EngineArgoCD):
		if declines(labels, FlagRemote) {
			return Declined // its Argo CD is to go
		}
		return Unsaid // there is no Argo CD to make reachable
	case value == labelTrue:
		return Brought
	case said, flag == flagSecrets && declines(labels, FlagRemote):
		return Declined
	}
	return Unsaid
}

// bringsEngine is Brings for an engine.
func bringsEngine(m *fleet.Member, component string, labels, annotations map[string]string) Bringing {
	engine, hasEngine := labels[keyEngine]
	switch {
	case m.IsHub || annotations[engineAnnotation] == engineIsExternally:
		return Unsaid
	case m.Remote && component == Engines[m.Engine]:
		return Brought
	case declines(labels, FlagRemote), hasEngine && component != Engines[engine]:
		return Declined
	}
	return Unsaid
}

// declines reports whether labels say that a flag is off.
func declines(labels map[string]string, flag string) bool {
	value, said := labels[flag]
	return said && value != labelTrue
}

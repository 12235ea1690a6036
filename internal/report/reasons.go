package report

import "github.com/argosy-hub/argosy/internal/problem"

// summaries say of each reason in a few words what is wrong; docs/reference/problems.md says more.
var summaries = map[problem.Reason]string{
	problem.AmbiguousScalar:    "A scalar that YAML 1.1 (Helm) and YAML 1.2 read differently.",
	problem.ChartUnavailable:   "A chart from elsewhere cannot be fetched.",
	problem.ContradictoryLabel: "A label has another value than the flag of its name in the member file.",
	problem.DuplicateKey:       "A key is given twice in one map.",
	problem.DuplicateMember:    "Two member files declare one cluster, or a hub has two member files of its own.",
	problem.DuplicateName:      "Two components on two clusters give Applications of one name.",
	problem.DuplicateRelease:   "A release type is given twice for one group.",
	problem.DuplicateSecret:    "Two cluster Secrets of the hub claim one cluster.",
	problem.ExpansionFailed:    "An ApplicationSet or a chart fails when it is rendered.",
	problem.ExpiredApproval:    "An approval of removals approves nothing any more.",
	problem.ForbiddenFolder:    "A member's repository folder lies in a tenant's folder.",
	problem.ForbiddenSecret:    "A tenant's file names a secret that the tenant may not name.",
	problem.IncompleteCatalog:  "A component is switched on without complete chart coordinates.",
	problem.IncompleteRelease:  "A release does not say where its chart is.",
	problem.InvalidApproval:    "An approval of removals cannot be read, is valid for too long, or names what the fleet does not have.",
	problem.InvalidLabel:       "A label or annotation that Kubernetes would refuse.",
	problem.InvalidLayout:      "The layout file cannot be used.",
	problem.InvalidMember:      "A key of a member file is missing or has a value it cannot have.",
	problem.InvalidSelector:    "A catalog entry's selector is no Kubernetes label selector.",
	problem.InvalidValue:       "A value has a type or form it cannot have.",
	problem.InvalidVersions:    "A versions file cannot be used.",
	problem.InvalidYAML:        "A file is no YAML.",
	problem.LimitExceeded:      "A bound on size, depth or number is exceeded.",
	problem.MissingCredential:  "A repository needs a credential that nobody brings.",
	problem.MissingEngine:      "Nobody installs the engine of an agent.",
	problem.MissingFile:        "A file that the layout names is not there.",
	problem.MissingFolder:      "A commit leaves a group that has releases without any file.",
	problem.MissingHubMember:   "A hub has no member file that describes itself.",
	problem.MissingLayer:       "A required level has no file.",
	problem.MissingSecret:      "A cluster has Applications, and nothing is known of it: its cluster Secret is not there.",
	problem.MultipleDocuments:  "A file holds further YAML documents, which nobody reads.",
	problem.NameMismatch:       "A member file's clusterName differs from the file's name.",
	problem.NoEffect:           "A key of a member file that means nothing as the others are.",
	problem.NoMembers:          "The repository has no member file.",
	problem.NotExpanded:        "An object is not followed any further: what is below it is not known here.",
	problem.OutsideRepository:  "A path or symbolic link leads out of the repository.",
	problem.PlaintextSecret:    "A values file holds what looks like a secret in plain text.",
	problem.ReservedLabel:      "A reserved label is declared with another value.",
	problem.ReservedName:       "A name collides with one that the hierarchy or the engine needs.",
	problem.TemplateFailed:     "A template cannot be parsed or executed.",
	problem.TypeConflict:       "A map replaces a non-map, or the other way round.",
	problem.UnknownKey:         "A key that nobody reads.",
	problem.UnknownRelease:     "A cluster is on a release that the versions file does not have.",
	problem.UnknownTenant:      "A member's tenant has no folder in the hierarchy while others have.",
	problem.UnreachableFile:    "No cluster and no component can ever read this file.",
	problem.UnsupportedEngine:  "A component that the member's engine cannot deploy as it is declared.",
}

// HelpURI is where a reason is described.
func HelpURI(reason string) string {
	return "https://github.com/argosy-hub/argosy/blob/main/docs/reference/problems.md#" + reason
}

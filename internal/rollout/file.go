package rollout

// File is a policy file as its JSON Schema describes it. Parse reads it with positions.
type File struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=Rollout"`
	// Scope is what the policy is about; without groups and components, all groups but fleet.
	Scope *Scope `json:"scope,omitempty"`
	// Paused stops all rings.
	Paused bool `json:"paused,omitempty"`
	// Agents has agents follow their rings on the hub, whose Argo CD needs the health check of
	// ownership grants for it.
	Agents bool `json:"agents,omitempty"`
	// Rings are in the order in which they take a change.
	Rings     []FileRing     `json:"rings" jsonschema:"minItems=1,maxItems=20"`
	Approvals []FileApproval `json:"approvals,omitempty" jsonschema:"maxItems=100"`
	Pins      []FilePin      `json:"pins,omitempty" jsonschema:"maxItems=100"`
}

// FileRing is one ring.
type FileRing struct {
	Name string `json:"name"`
	// Selector selects members by the labels of their files, and by tenant, environment, cluster
	// and hub.
	Selector FileSelector `json:"selector"`
	// MaxUnavailable is a number of members or a percentage; default 0.
	MaxUnavailable any `json:"maxUnavailable,omitempty" jsonschema:"oneof_type=integer;string"`
	// Soak is how long the ring has to be healthy without a break, such as 30m or 24h.
	Soak string `json:"soak,omitempty"`
	// Deadline is how long the ring may take to become healthy before it fails; default for ever.
	Deadline string      `json:"deadline,omitempty"`
	Checks   []FileCheck `json:"checks,omitempty"`
	// Windows are when the ring may take a change; default always.
	Windows []FileWindow `json:"windows,omitempty"`
	Freezes []FileFreeze `json:"freezes,omitempty"`
	// Approval required asks for an approval of each change.
	Approval string `json:"approval,omitempty" jsonschema:"enum=required,enum=none"`
	// OnFailure back answers a failed ring from its last good revision; default hold.
	OnFailure string `json:"onFailure,omitempty" jsonschema:"enum=hold,enum=back"`
}

// FileSelector is a label selector of Kubernetes.
type FileSelector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []any             `json:"matchExpressions,omitempty"`
}

// FileCheck is a query of an HTTP endpoint or of a Prometheus server.
type FileCheck struct {
	Name string `json:"name"`
	// URL responds with 200 while the check holds; with Query it is the address of a Prometheus
	// server. The service has to allow its host.
	URL string `json:"url"`
	// Query is in PromQL. Each sample of its result lies between Min and Max.
	Query string   `json:"query,omitempty"`
	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
	// Timeout bounds one query, such as 5s; default 10s, at most 1m.
	Timeout string `json:"timeout,omitempty"`
}

// FileWindow is a time of the week.
type FileWindow struct {
	Days     []string `json:"days,omitempty" jsonschema:"enum=mon,enum=tue,enum=wed,enum=thu,enum=fri,enum=sat,enum=sun"`
	From     string   `json:"from,omitempty"`
	To       string   `json:"to,omitempty"`
	TimeZone string   `json:"timeZone,omitempty"`
}

// FileFreeze is a time in which nothing changes: days, or moments such as 2026-12-20T18:00.
type FileFreeze struct {
	From     string `json:"from"`
	To       string `json:"to"`
	TimeZone string `json:"timeZone,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// FileApproval lets a ring take a revision until its last day.
type FileApproval struct {
	Ring     string `json:"ring"`
	Revision string `json:"revision" jsonschema:"minLength=7"`
	Expires  string `json:"expires"`
	// Overtake lets the revision skip the rings before, their soak and the windows.
	Overtake bool   `json:"overtake,omitempty"`
	Reason   string `json:"reason"`
}

// FilePin keeps a ring on a revision.
type FilePin struct {
	Ring     string `json:"ring"`
	Revision string `json:"revision" jsonschema:"minLength=7"`
	Reason   string `json:"reason,omitempty"`
}

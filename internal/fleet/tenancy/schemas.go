package tenancy

import (
	"fmt"
	"regexp"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/hierarchy"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// An allow-list says what a tenant's level may set of a component that lands on the hub. The
// registration chart and all of the group of classes land there. So do the components that the
// layout names in tenantSchemas, and components whose catalog entry sends the Application to
// another destination.

// registrationSchema is the schema of charts/fleet-secret, which a layout may replace.
var registrationSchema = must(ParseSchema("charts/fleet-secret/"+SchemaFile, charts.FleetSecretTenantSchema))

// keyTemplatePatch is the option of charts/application-sets that may change an Application's
// destination.
const keyTemplatePatch = "templatePatch"

var inDestination = regexp.MustCompile(`\bdestination["']?\s*:`)

// Schemas are the components that land on the hub, by "group/component", with the schema of what a
// tenant's level may set there. Components of the group of classes need no entry.
type Schemas map[string]*Schema

// LoadSchemas finds the components that land on the hub. Catalogs are the layout's, by group.
// Registration is the component that registers a member. The error is a problem.List.
func LoadSchemas(layout *fleet.Layout, catalogs map[string][]hierarchy.Layer, s *snapshot.Snapshot, registration string) (Schemas, error) {
	out := Schemas{}
	for name, layers := range catalogs {
		for _, l := range layers {
			for _, f := range catalog.Entries(l.Root).Fields() {
				if isElsewhere(f.Value.Get(keyTemplatePatch)) {
					out[name+"/"+f.Key] = NothingAllowed()
				}
			}
		}
	}
	out[registration] = registrationSchema
	var problems problem.List
	for component, file := range layout.TenantSchemas {
		if file.Path == "" {
			out[component] = NothingAllowed()
			continue
		}
		fail := func(found string) {
			problems = append(problems, problem.Problem{
				Reason: problem.InvalidLayout, Severity: problem.Error, Pos: file.Pos, Subject: fmt.Sprintf("key %q", "tenantSchemas."+component),
				Found: found, Expected: "a JSON Schema of this repository",
			})
		}
		f := s.File(file.Path)
		switch {
		case f == nil:
			fail("no file " + file.Path)
		case f.Err != nil:
			fail(f.Err.Error())
		default:
			var err error
			if out[component], err = ParseSchema(file.Path, f.Data); err != nil {
				fail(err.Error())
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return out, nil
}

// Has reports whether a component lands on the hub.
func (s Schemas) Has(group, component string) bool { return s.of(group, component) != nil }

// of returns a component's schema, nil where it does not land on the hub. All of the group of
// classes lands there, whatever catalog names it.
func (s Schemas) of(group, component string) *Schema {
	if schema := s[group+"/"+component]; schema != nil || group != provision.Group {
		return schema
	}
	return NothingAllowed()
}

// isElsewhere reports whether a patch of an Application may change its destination.
func isElsewhere(patch *yamldoc.Node) bool {
	if patch == nil {
		return false
	}
	if patch.Kind == yamldoc.String {
		return inDestination.MatchString(patch.Text())
	}
	return patch.Get("spec").Get("destination") != nil
}

// ForbiddenValues reports the values of a tenant's levels that the component's schema does not
// allow. Remembered caches what a schema finds in a file.
func (s Schemas) ForbiddenValues(remembered Memory, layout *fleet.Layout, group, component string, layers []hierarchy.Layer) []problem.Problem {
	schema := s.of(group, component)
	if schema == nil {
		return nil
	}
	var out []problem.Problem
	for _, l := range layers {
		if l.Root.IsNull() || !layout.OfTenant(l.Level) {
			continue
		}
		out = append(out, remembered.Forbidden(schema, l.Root, fmt.Sprintf("component %q of group %q", component, group))...)
	}
	return out
}

// Companion checks the value files of a companion. It lands on the hub where its component does;
// then a tenant's level may set nothing of it. The error is a problem.List.
func (s Schemas) Companion(remembered Memory, layout *fleet.Layout, m *fleet.Member, group, component string) func([]hierarchy.Layer, error) ([]hierarchy.Layer, error) {
	return func(layers []hierarchy.Layer, err error) ([]hierarchy.Layer, error) {
		if err != nil || m.IsHub || !s.Has(group, component) {
			return layers, err
		}
		nothing := Schemas{group + "/" + component: NothingAllowed()}
		if problems := nothing.ForbiddenValues(remembered, layout, group, component, layers); len(problems) > 0 {
			return nil, problem.List(problems)
		}
		return layers, nil
	}
}

// ForbiddenEntries reports the entries of a component that lands on the hub in catalogs of a
// tenant's levels: they would choose its chart, its version and its namespace.
func (s Schemas) ForbiddenEntries(layout *fleet.Layout, group, component string, catalogs []hierarchy.Layer) []problem.Problem {
	if !s.Has(group, component) {
		return nil
	}
	var out []problem.Problem
	for _, l := range catalogs {
		e := catalog.Entries(l.Root).Get(component)
		if e == nil || !layout.OfTenant(l.Level) {
			continue
		}
		out = append(out, problem.Problem{
			Reason: problem.ForbiddenValue, Severity: problem.Error, Pos: catalog.Entries(l.Root).KeyPos(component),
			Subject: fmt.Sprintf("component %q of group %q", component, group), Found: "is in a tenant's catalog",
			Expected: "no entry: it lands on the hub", Hints: []string{"set it at a level of the platform"},
		})
	}
	return out
}

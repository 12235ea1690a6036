package fleetstate

import (
	"fmt"
	"regexp"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/tenantschema"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// What a tenant's level may set of a component that lands on the hub is an allow-list (W1). Three
// kinds of components land there: the registration chart, those that the layout names in
// tenantSchemas, and those whose catalog entry sends its Application to another destination.

// registrationSchema is the one of charts/fleet-secret, which a layout may replace.
var registrationSchema = func() *tenantschema.Schema {
	s, err := tenantschema.Parse("charts/fleet-secret/"+tenantschema.FileName, charts.FleetSecretTenantSchema)
	if err != nil {
		panic(err) //nolint:forbidigo // part of the program, covered by a test
	}
	return s
}()

// keyTemplatePatch is the option of charts/application-sets that may change an Application's
// destination.
const keyTemplatePatch = "templatePatch"

var inDestination = regexp.MustCompile(`\bdestination["']?\s*:`)

// loadTenantSchemas finds the components that land on the hub.
func (b *Resolver) loadTenantSchemas() error {
	b.onHub = map[string]*tenantschema.Schema{}
	for name, catalogs := range b.Catalogs {
		for _, l := range catalogs {
			entries := catalog.Entries(l.Root)
			if entries == nil {
				continue
			}
			for _, f := range entries.Fields {
				if isElsewhere(f.Value.Get(keyTemplatePatch)) {
					b.onHub[name+"/"+f.Key] = tenantschema.Nothing()
				}
			}
		}
	}
	b.onHub[FleetGroup+"/"+Registration] = registrationSchema
	var problems problem.List
	for component, file := range b.Fleet.Layout.TenantSchemas {
		if file.Path == "" {
			b.onHub[component] = tenantschema.Nothing()
			continue
		}
		fail := func(found string) {
			problems = append(problems, problem.Problem{
				Reason: problem.InvalidLayout, Severity: problem.Error, Pos: file.Pos, Subject: fmt.Sprintf("key %q", "tenantSchemas."+component),
				Found: found, Expected: "a JSON Schema of this repository",
			})
		}
		f := b.Snapshot.File(file.Path)
		if f == nil {
			fail("no file " + file.Path)
			continue
		}
		if f.Err != nil {
			fail(f.Err.Error())
			continue
		}
		s, err := tenantschema.Parse(file.Path, f.Data)
		if err != nil {
			fail(err.Error())
			continue
		}
		b.onHub[component] = s
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// isElsewhere reports whether a patch of an Application may change its destination.
func isElsewhere(patch *yamldoc.Node) bool {
	if patch == nil {
		return false
	}
	if patch.Kind == yamldoc.String {
		return inDestination.MatchString(patch.Text)
	}
	return patch.Get("spec").Get("destination") != nil
}

// tenantValues are the values of a tenant's levels that its chart does not allow there.
func (b *Resolver) tenantValues(c *Cluster, group, component string, layers []hierarchy.Layer) []problem.Problem {
	schema := b.onHub[group+"/"+component]
	if schema == nil || c.Member.IsHub {
		return nil
	}
	var out []problem.Problem
	for _, l := range layers {
		if l.Root.IsNull() || !b.Fleet.Layout.OfTenant(l.Level) {
			continue
		}
		out = append(out, b.memo.Forbidden(schema, l.Root, fmt.Sprintf("component %q of group %q", component, group))...)
	}
	return c.Attribute(out)
}

// tenantEntries are the entries of a component that lands on the hub in catalogs of a tenant's
// levels: they would choose its chart, its version and its namespace.
func (b *Resolver) tenantEntries(c *Cluster, g *Group, component string) []problem.Problem {
	if b.onHub[g.Name+"/"+component] == nil || c.Member.IsHub {
		return nil
	}
	var out []problem.Problem
	for _, l := range g.Catalogs {
		e := catalog.Entries(l.Root).Get(component)
		if e == nil || !b.Fleet.Layout.OfTenant(l.Level) {
			continue
		}
		out = append(out, problem.Problem{
			Reason: problem.ForbiddenValue, Severity: problem.Error, Pos: catalog.Entries(l.Root).KeyPos(component),
			Subject: fmt.Sprintf("component %q of group %q", component, g.Name), Found: "is in a tenant's catalog",
			Expected: "no entry: it lands on the hub", Hints: []string{"set it at a level of the platform"},
		})
	}
	return c.Attribute(out)
}

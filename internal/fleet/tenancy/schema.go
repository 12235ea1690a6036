package tenancy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// SchemaFile is the name of a chart's schema.
const SchemaFile = "tenant.schema.json"

// Schema is an allow-list of values.
type Schema struct {
	s    *jsonschema.Schema
	file string
}

// nothing is the schema of a chart without one.
var nothing = must(ParseSchema("", []byte(`{"type": "object", "additionalProperties": false}`)))

// NothingAllowed returns the schema that allows no value at all.
func NothingAllowed() *Schema { return nothing }

func must(s *Schema, err error) *Schema {
	if err != nil {
		panic(err) //nolint:forbidigo // part of the program, covered by a test
	}
	return s
}

// none refuses every reference to another document.
type none struct{}

func (none) Load(url string) (any, error) {
	return nil, fmt.Errorf("refers to %s, and nothing outside of the schema is read", url)
}

// ParseSchema compiles a schema; file names it in hints.
func ParseSchema(file string, data []byte) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	const url = "tenant:///tenant.schema.json" // a relative one depends on the working directory
	c := jsonschema.NewCompiler()
	c.UseLoader(none{})
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	s, err := c.Compile(url)
	if err != nil {
		return nil, err
	}
	return &Schema{s, file}, nil
}

// Check reports what a layer sets and the schema does not allow, at most problem.OfFile findings.
// Subject names the component.
func (s *Schema) Check(root *yamldoc.Node, subject string) []problem.Problem {
	if root.IsNull() {
		return nil
	}
	err := s.s.Validate(root.Any())
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []problem.Problem{s.problem(root.Pos(), subject, nil)}
	}
	r := &reported{schema: s, root: root, subject: subject, seen: map[problem.Pos]bool{}}
	r.add(invalid)
	return problem.Cut(problem.Sorted(r.problems), problem.OfFile)
}

// reported collects a problem for each place that a validation error names.
type reported struct {
	schema   *Schema
	root     *yamldoc.Node
	subject  string
	seen     map[problem.Pos]bool
	problems []problem.Problem
}

func (r *reported) add(e *jsonschema.ValidationError) {
	path := e.InstanceLocation
	if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		for _, name := range k.Properties {
			r.at(append(path[:len(path):len(path)], name))
		}
		return
	}
	if len(e.Causes) == 0 {
		r.at(path)
	}
	for _, cause := range e.Causes {
		r.add(cause)
	}
}

// at reports a value at the place of its key. A value in a list has the list's place.
func (r *reported) at(path []string) {
	n, pos := r.root, r.root.Pos()
	for _, part := range path {
		if !n.IsMap() {
			break
		}
		pos, n = n.KeyPos(part), n.Get(part)
	}
	if !r.seen[pos] {
		r.seen[pos] = true
		r.problems = append(r.problems, r.schema.problem(pos, r.subject, path))
	}
}

func (s *Schema) problem(pos problem.Pos, subject string, path []string) problem.Problem {
	p := problem.Problem{
		Reason: problem.ForbiddenValue, Severity: problem.Error, Pos: pos, Subject: subject,
		Found: "is set by a tenant's file", Expected: "nothing: it lands on the hub, and declares no value that a tenant may set",
		Hints: []string{"set it at a level of the platform"},
	}
	if len(path) > 0 {
		p.Found = fmt.Sprintf("value %q %s", strings.Join(path, "."), p.Found)
	}
	if s.file != "" {
		p.Expected = "only values that " + s.file + " allows: it lands on the hub"
	}
	return p
}

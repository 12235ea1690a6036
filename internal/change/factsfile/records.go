package factsfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/argosy-hub/argosy/docs/schemas"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// maxRecord is the largest size of a secret in AWS Secrets Manager.
const maxRecord = 64 << 10

// CheckRecords reports errors in the records of a folder, each at its place. The record of the
// secret hub-eu/retail-prod-eu-1 is FOLDER/hub-eu/retail-prod-eu-1.json. If a member's file names
// the record, CheckRecords also compares the member's name. It repeats no value of a record, which
// may be a credential.
func CheckRecords(folder string, members []*fleet.Member) ([]problem.Problem, error) {
	of := map[string]*fleet.Member{}
	for _, m := range members {
		if m.SecretManagerSecret != "" {
			of[secretName(m.SecretManagerSecret)] = m
		}
	}
	var problems []problem.Problem
	found := false
	err := filepath.WalkDir(folder, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(file) != ".json" {
			return err
		}
		found = true
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, strings.TrimSuffix(file, ".json"))
		if err != nil {
			return err
		}
		problems = append(problems, checkRecord(file, data, of[filepath.ToSlash(name)])...)
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("folder %s has no record; expected files whose names end in .json", folder)
	}
	if err != nil {
		return nil, problem.Usage(nil, "--records: %w", err)
	}
	return problems, nil
}

// arn matches the ARN of a secret; AWS ends it with a hyphen and six characters.
var arn = regexp.MustCompile(`^arn:[^:]*:secretsmanager:[^:]*:[^:]*:secret:(.*)-.{6}$`)

// secretName returns the name of the secret in a member's file.
func secretName(text string) string {
	if m := arn.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// checkRecord checks a record against its schema, and its cluster name against the member.
func checkRecord(file string, data []byte, m *fleet.Member) []problem.Problem {
	if len(data) > maxRecord {
		return []problem.Problem{{
			Reason: problem.LimitExceeded, Severity: problem.Error, Pos: problem.Pos{File: file}, Subject: "record",
			Found: fmt.Sprintf("has %d bytes", len(data)), Expected: fmt.Sprintf("at most %d", maxRecord),
		}}
	}
	doc, err := yamldoc.Parse(file, data)
	if err != nil {
		return problem.From(err, problem.InvalidYAML, problem.Pos{File: file})
	}
	r := &recordReader{root: doc.Root, schema: recordSchema(), seen: map[string]bool{}}
	var invalid *jsonschema.ValidationError
	if err := r.schema.schema.Validate(doc.Root.Any()); errors.As(err, &invalid) {
		r.add(nil, nil, invalid)
	}
	if name := doc.Root.Get("cluster_name"); m != nil && name != nil && name.Text() != m.Name {
		r.problems = append(r.problems, problem.Problem{
			Reason: problem.NameMismatch, Severity: problem.Error, Pos: name.Pos(), Subject: `key "cluster_name"`, Found: fmt.Sprintf("%q", name.Text()),
			Expected: fmt.Sprintf("%q, the member whose file names the record", m.Name), Related: []problem.Pos{m.KeyPos("secretManagerSecretName")},
		})
	}
	for i := range r.problems {
		if m != nil {
			r.problems[i].Hub, r.problems[i].Cluster = m.Hub, m.Name
		}
	}
	return problem.Cut(problem.Sorted(r.problems), problem.OfFile)
}

// recordContract is the schema of records, with its descriptions of the keys.
type recordContract struct {
	schema *jsonschema.Schema
	keys   []string          // of a record itself
	means  map[string]string // descriptions by key, of all objects in a record
}

// meaning returns the schema's description of a value, or else of what is around it.
func (c recordContract) meaning(path ...string) string {
	for _, name := range slices.Backward(path) {
		if text := c.means[name]; text != "" {
			return strings.ToLower(text[:1]) + text[1:]
		}
	}
	return ""
}

// recordSchema is compiled once. It is part of the program and covered by tests.
var recordSchema = sync.OnceValue(func() (c recordContract) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemas.ClusterSecret))
	if err == nil {
		const url = "record:///cluster-secret.json"
		compiler := jsonschema.NewCompiler()
		compiler.AssertContent()
		if err = compiler.AddResource(url, doc); err == nil {
			c.schema, err = compiler.Compile(url)
		}
	}
	type node struct {
		Description string
		Properties  map[string]*node
		Defs        map[string]*node `json:"$defs"`
	}
	var root node
	if err == nil {
		err = json.Unmarshal(schemas.ClusterSecret, &root)
	}
	if err != nil {
		panic(err) //nolint:forbidigo // part of the program, covered by a test
	}
	c.means = map[string]string{}
	var walk func(*node)
	walk = func(n *node) {
		for name, property := range n.Properties {
			c.means[name] = property.Description
			walk(property)
		}
		for _, n := range n.Defs {
			walk(n)
		}
	}
	walk(&root)
	c.keys = slices.Sorted(maps.Keys(root.Properties))
	return c
})

// recordReader collects a problem for each place that a validation error names.
type recordReader struct {
	root     *yamldoc.Node
	schema   recordContract
	seen     map[string]bool // places with their subjects
	problems []problem.Problem
}

// add collects the problems of an error. base is the place of the text whose JSON the error is
// about, nil for the record itself. around is the place of the parent error.
func (r *recordReader) add(base, around []string, e *jsonschema.ValidationError) {
	path := slices.Concat(base, e.InstanceLocation)
	causes := e.Causes
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			expected := ""
			if len(path) == 0 {
				expected = "one of " + strings.Join(r.schema.keys, ", ")
			}
			r.report(problem.UnknownKey, append(path, name), "is not known in a record", expected, problem.Nearest(name, slices.Sorted(maps.Keys(r.schema.means)))...)
		}
		return
	case *kind.Required:
		for _, name := range k.Missing {
			r.report(problem.InvalidValue, append(path, name), "is missing", r.schema.meaning(name), "terraform/modules/member-record writes a record")
		}
		return
	case *kind.ContentSchema: // it has no place, and its causes begin at the text
		base, path = around, around
	case *kind.AnyOf: // JSON, or JSON as text
		if fits := slices.DeleteFunc(slices.Clone(causes), isOtherType(e.InstanceLocation)); len(fits) > 0 {
			causes = fits
		}
	}
	if len(causes) == 0 {
		r.report(problem.InvalidValue, path, "is invalid", r.schema.meaning(path...))
	}
	for _, cause := range causes {
		r.add(base, path, cause)
	}
}

// isOtherType returns whether a branch is about a value of another type.
func isOtherType(path []string) func(*jsonschema.ValidationError) bool {
	var is func(e *jsonschema.ValidationError) bool
	is = func(e *jsonschema.ValidationError) bool {
		_, ok := e.ErrorKind.(*kind.Type)
		return ok && slices.Equal(e.InstanceLocation, path) || slices.ContainsFunc(e.Causes, is)
	}
	return is
}

// report adds a problem at the place of a key, or where it should be.
func (r *recordReader) report(reason problem.Reason, path []string, found, expected string, hints ...string) {
	n, pos := r.root, r.root.Pos()
	for _, part := range path {
		if !n.IsMap() || n.Get(part) == nil {
			break
		}
		pos, n = n.KeyPos(part), n.Get(part)
	}
	subject := "the record"
	if len(path) > 0 {
		subject = fmt.Sprintf("key %q", strings.Join(path, "."))
	}
	if at := pos.String() + subject; !r.seen[at] {
		r.seen[at] = true
		r.problems = append(r.problems, problem.Problem{Reason: reason, Severity: problem.Error, Pos: pos, Subject: subject, Found: found, Expected: expected, Hints: hints})
	}
}

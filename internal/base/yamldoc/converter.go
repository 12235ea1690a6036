package yamldoc

import (
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// converted is a node with its number of nodes, the bytes of their texts and their depth. Each use
// of an alias counts.
type converted struct {
	node   *Node
	size   int
	text   int
	height int
}

// hold adds the counts of a value inside c.
func (c *converted) hold(below converted) {
	c.size += below.size
	c.text += below.text
	c.height = max(c.height, below.height+1)
}

type converter struct {
	doc        *Doc
	done       map[*yaml.Node]converted // anchored nodes; a zero value marks a node that is being converted
	problems   bounded
	duplicates bounded
	overridden bounded
	overflow   bool
}

func (c *converter) pos(n *yaml.Node) problem.Pos {
	return problem.Pos{File: c.doc.File, Line: n.Line, Column: n.Column}
}

func (c *converter) fail(n *yaml.Node, reason problem.Reason, subject, found, expected string, hints ...string) {
	c.problems.add(problem.Problem{
		Reason: reason, Severity: problem.Error, Pos: c.pos(n), Subject: subject, Found: found, Expected: expected, Hints: hints,
	})
}

func (c *converter) node(n *yaml.Node, depth int) converted {
	out := converted{node: &Node{Line: int32(n.Line), Column: int32(n.Column), Doc: c.doc}, size: 1} //nolint:gosec // files are bounded
	if c.overflow {
		return out
	}
	if depth > MaxDepth {
		c.tooDeep(n)
		return out
	}
	if n.Anchor != "" {
		c.done[n] = converted{}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.alias(n, depth)
	case yaml.MappingNode:
		c.mapping(n, &out, depth)
	case yaml.SequenceNode:
		items := make([]*Node, 0, len(n.Content))
		for _, item := range n.Content {
			i := c.node(item, depth+1)
			out.hold(i)
			items = append(items, i.node)
			if c.tooLarge(n, out) {
				break
			}
		}
		out.node.setItems(items)
	default:
		c.scalar(n, out.node)
		out.text = len(out.node.Text())
	}
	c.tooLarge(n, out)
	if n.Anchor != "" {
		c.done[n] = out
	}
	return out
}

// tooLarge ends the conversion of a document beyond the limits.
func (c *converter) tooLarge(n *yaml.Node, out converted) bool {
	switch {
	case c.overflow:
	case out.size > MaxNodes:
		c.overflow = true
		c.fail(n, problem.LimitExceeded, "", fmt.Sprintf("%d values and more, aliases counted as often as they are used", out.size), fmt.Sprintf("at most %d", MaxNodes))
	case out.text > MaxText:
		c.overflow = true
		c.fail(n, problem.LimitExceeded, "", fmt.Sprintf("%d bytes of text and more, aliases counted as often as they are used", out.text), fmt.Sprintf("at most %d", MaxText))
	}
	return c.overflow
}

func (c *converter) tooDeep(n *yaml.Node) {
	c.overflow = true
	c.fail(n, problem.LimitExceeded, "", "values nested deeper than the limit", fmt.Sprintf("at most %d levels", MaxDepth))
}

func (c *converter) alias(n *yaml.Node, depth int) converted {
	target, ok := c.done[n.Alias]
	if !ok && n.Alias.Kind == yaml.ScalarNode {
		return c.node(n.Alias, depth) // the anchor is at a key
	}
	if depth+target.height > MaxDepth {
		c.tooDeep(n) // nested aliases are as deep as their value
	}
	if !ok || target.node == nil {
		c.fail(n, problem.InvalidYAML, fmt.Sprintf("alias %q", n.Value), "refers to a value that contains it", "an anchor defined before")
		return converted{node: &Node{Doc: c.doc}, size: 1}
	}
	return target
}

// mapping converts a map. It collects fields in the order of the file: fields after a merge key win
// over it, and it wins over fields before it (yaml.v2, decode.go, mapping and merge).
func (c *converter) mapping(n *yaml.Node, out *converted, depth int) {
	fields := make([]Field, 0, len(n.Content)/2)
	index := make(map[string]int, len(n.Content)/2)
	own := make(map[string]*yaml.Node, len(n.Content)/2)
	set := func(f Field) {
		if i, ok := index[f.Key]; ok {
			fields[i] = f
			return
		}
		index[f.Key] = len(fields)
		fields = append(fields, f)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			c.merge(value, func(f Field) {
				if before := own[f.Key]; before != nil {
					c.overridden.add(problem.Problem{
						Reason: problem.NoEffect, Severity: problem.Note, Pos: c.pos(before), Subject: fmt.Sprintf("key %q", f.Key),
						Found: fmt.Sprintf("has no effect: << of line %d comes after it, and in Helm the later wins", key.Line), Hints: []string{"put << before the keys that are to win over it"},
					})
				}
				set(f)
			}, out, depth)
			continue
		}
		name, ok := c.key(key)
		if !ok {
			continue
		}
		if first, dup := own[name]; dup {
			c.duplicates.add(problem.Problem{
				Reason: problem.DuplicateKey, Severity: problem.Warning, Pos: c.pos(key), Subject: fmt.Sprintf("key %q", name),
				Found: fmt.Sprintf("given again, first at line %d", first.Line), Expected: "each key once",
			})
		} else {
			own[name] = key
		}
		v := c.node(value, depth+1)
		out.hold(v)
		out.text += len(name)
		if c.tooLarge(n, *out) {
			return
		}
		set(Field{Key: name, Line: int32(key.Line), Column: int32(key.Column), Value: v.node}) //nolint:gosec // files are bounded
	}
	sortFields(fields)
	out.node.setFields(fields)
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "!!merge" || key.Tag == "" || key.ShortTag() == "!!merge") && key.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0
}

// merge applies the value of a merge key: a map, or a list of maps where earlier maps win.
func (c *converter) merge(value *yaml.Node, set func(Field), out *converted, depth int) {
	apply := func(n *yaml.Node) {
		v := c.node(n, depth+1)
		out.hold(v)
		if c.tooLarge(n, *out) {
			return
		}
		if v.node.Kind != Map {
			c.fail(n, problem.InvalidYAML, "merge key <<", "holds a "+v.node.Kind.String(), "a map, or a list of maps")
			return
		}
		for _, f := range v.node.Fields() {
			set(f)
		}
	}
	if value.Kind == yaml.SequenceNode {
		for i := len(value.Content) - 1; i >= 0; i-- {
			apply(value.Content[i])
		}
		return
	}
	apply(value)
}

func (c *converter) key(n *yaml.Node) (string, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		var hints []string
		if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 { // {{ .x }} is a map with a map as its key
			hints = []string{"if it is a template, put it in quotes, or end the file's name in .gotmpl"}
		}
		c.fail(n, problem.InvalidYAML, "key", "is a map or list", "text", hints...)
		return "", false
	}
	if isText(n) {
		return n.Value, true
	}
	key, err := resolveKey(taggedSource(n))
	if err != nil {
		c.fail(n, problem.InvalidYAML, fmt.Sprintf("key %q", n.Value), "cannot be a key", "text")
		return "", false
	}
	if n.Tag == "" || n.Style&yaml.TaggedStyle == 0 {
		c.ambiguous(n, keyAmbiguity(n.Value, key))
	}
	return key, true
}

func (c *converter) scalar(n *yaml.Node, out *Node) {
	if isText(n) {
		out.setText(String, n.Value)
		return
	}
	s, err := resolve(taggedSource(n))
	if err != nil {
		c.fail(n, problem.InvalidYAML, fmt.Sprintf("value %q", n.Value), "cannot be expressed in JSON, which Helm needs", "a string, number, boolean or null")
		return
	}
	out.setScalar(s, n.Value)
	if n.Style&yaml.TaggedStyle == 0 {
		c.ambiguous(n, valueAmbiguity(n.Value, s))
	}
}

// isText reports whether the style of a scalar makes it a string: quoted, or a block scalar,
// without a tag.
func isText(n *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&yaml.TaggedStyle != 0 {
		return n.ShortTag() == "!!str"
	}
	return n.Style&quoted != 0 || plainIsText(n.Value)
}

var coreTag = regexp.MustCompile(`^!![a-z]+$`)

// taggedSource returns a scalar in a form for the oracle: plain, or quoted behind its tag.
func taggedSource(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle == 0 {
		return n.Value
	}
	tag := n.Tag
	if !coreTag.MatchString(tag) {
		tag = "!x" // all tags that YAML does not define mean the same, and some are hard to write
	}
	return tag + " " + strconv.Quote(n.Value)
}

func (c *converter) ambiguous(n *yaml.Node, a *Ambiguity) { c.doc.ambiguous(a, c.pos(n)) }

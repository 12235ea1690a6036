package tmpl

import (
	"fmt"
	"regexp"
	"slices"
	"text/template/parse"
)

// messagesOf returns the texts that a template passes to fail and required. They are part of the
// template, so an error may repeat them.
func messagesOf(trees map[string]*parse.Tree) (out []string) {
	for _, tree := range trees {
		inspect(tree.Root, func(n parse.Node) {
			c, ok := n.(*parse.CommandNode)
			if !ok || len(c.Args) < 2 {
				return
			}
			f, isFunction := c.Args[0].(*parse.IdentifierNode)
			message, isText := c.Args[1].(*parse.StringNode)
			if isFunction && isText && (f.Ident == "fail" || f.Ident == "required") {
				out = append(out, message.Text)
			}
		})
	}
	return out
}

// bare are the errors of text/template's executions (exec.go and funcs.go of Go 1.26) that name
// only types, numbers and the template's own text. All others may repeat a value.
var bare = regexp.MustCompile(`^(?s:undefined variable: |template "[^"]*" not defined$|exceeded maximum template depth|can't give argument to non-function |nil is not a command$|` +
	`can't evaluate (command|field) |nil data; no entry for key |nil pointer evaluating |indirection through explicit nil in |map has no entry for key |` +
	`\S+ (has arguments but cannot be invoked as function|is not a method but has arguments|overflows int)$|wrong number of args for |invalid value; expected |` +
	`wrong type for value; expected |cannot assign nil to |can't print |can't handle |expected \w+; found )`)

// bareCall are the errors of these functions that name only types and numbers.
var bareCall = regexp.MustCompile(`^error calling (eq|ne|lt|le|gt|ge|len|index|printf): (incompatible types for comparison: |invalid type for comparison$|missing argument for comparison$|` +
	`len of (nil pointer|type )|cannot look up a |no such element in a list of |a verb prints an address)`)

var calling = regexp.MustCompile(`(?s)^error calling ([^:]+): (.*)$`)

// withoutValues removes values from an execution's error: users who may not see the facts can see
// the error.
func withoutValues(text string, messages []string) (found, hint string) {
	if bare.MatchString(text) {
		return text, ""
	}
	m := calling.FindStringSubmatch(text)
	switch {
	case m == nil:
		return "it cannot be executed with a value of this type", ""
	case slices.Contains(messages, m[2]) || bareCall.MatchString(text):
		return text, ""
	case m[1] == "fail" || m[1] == "required":
		return fmt.Sprintf("error calling %s: its message is withheld, as it may hold values", m[1]), fmt.Sprintf("a message in quotes is shown: {{ %s \"...\" }}", m[1])
	}
	return fmt.Sprintf("error calling %s: it refuses what it is given, which is withheld, as it may hold values", m[1]), ""
}

package tmpl

import (
	"fmt"
	"slices"
	"text/template/parse"
)

// unbounded are the methods of the one type that functions return with methods, that of semver,
// which take a text of any length: no account sees them.
var unbounded = []string{"SetPrerelease", "SetMetadata", "Scan"}

// leftOutMethods is an error for a template that calls one of them. A field has arguments only
// where it is a method.
func leftOutMethods(trees map[string]*parse.Tree) (err error) {
	for _, tree := range trees {
		inspect(tree.Root, func(n parse.Node) {
			pipe, ok := n.(*parse.PipeNode)
			if !ok || pipe == nil {
				return
			}
			for i, c := range pipe.Cmds {
				if last := lastName(c.Args[0]); (i > 0 || len(c.Args) > 1) && slices.Contains(unbounded, last) {
					place, _ := tree.ErrorContext(c)
					err = fmt.Errorf("template: %s: method %q not defined", place, last)
				}
			}
		})
	}
	return err
}

// lastName is the last name of a path, "" if the node is no path.
func lastName(n parse.Node) string {
	var path []string
	switch n := n.(type) {
	case *parse.FieldNode:
		path = n.Ident
	case *parse.VariableNode:
		path = n.Ident[1:]
	case *parse.ChainNode:
		path = n.Field
	}
	if len(path) == 0 {
		return ""
	}
	return path[len(path)-1]
}

package lintreport

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every reason code is documented, with an example and a way to fix it.
func TestReasonsAreDocumented(t *testing.T) {
	codes := reasons(t)
	data, err := os.ReadFile("../../../../docs/reference/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	var order []string
	for _, section := range strings.Split(string(data), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		sections[name] = text
		order = append(order, name)
	}
	if !slices.Equal(order, codes) {
		t.Errorf("docs/reference/problems.md describes\n%v\nthe codes are\n%v", order, codes)
	}
	for _, code := range codes {
		text := sections[code]
		if !strings.Contains(text, "["+code+"]") || !strings.Contains(text, "\nFix: ") {
			t.Errorf("%s: expected an example that ends in [%s], and a paragraph \"Fix: \"", code, code)
		}
		if !regexp.MustCompile(`\n\n    (\S.*: )?(error|warning|note): `).MatchString(text) {
			t.Errorf("%s: expected an example as lint prints it", code)
		}
	}
}

// reasons are the values of all constants of type problem.Reason, sorted.
func reasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../base/problem/problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Reason" {
			for _, value := range v.Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, text)
			}
		}
		return true
	})
	slices.Sort(out)
	if len(out) < 20 {
		t.Fatalf("found only %d reasons", len(out))
	}
	return out
}

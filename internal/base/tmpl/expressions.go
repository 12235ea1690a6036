package tmpl

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits of regular expressions: of their text, of their size with each repetition written out
// ((a{1000}){1000} is short), and of the texts to search. One search takes linear time in the text,
// all matches take quadratic time.
const (
	maxExpression     = 200
	maxExpressionSize = 300
	maxSearched       = 500
)

// Costs of an expression: to parse a byte and a class such as \pL, to compile a part, and to search
// a byte of the text for a part.
const (
	costParsed   = 64
	costClass    = 64 << 10
	costCompiled = 2 << 10
	costSearched = 8
)

var (
	class  = regexp.MustCompile(`\\[pP]`)
	folded = regexp.MustCompile(`\(\?[a-zA-Z-]*i`)
	// wide are ranges that may hold all letters, and each letter would be folded.
	wide = regexp.MustCompile(`\\[pP]|\\x\{|[^\x00-\x7F]`)
)

// expression is a compiled regular expression with its size.
type expression struct {
	*regexp.Regexp
	size int
}

// compile compiles an expression once per execution, and charges for it.
func (a *account) compile(name, pattern string) (*expression, error) {
	if e := a.compiled[pattern]; e != nil {
		return e, nil
	}
	if err := atMost(name, len(pattern), maxExpression, "bytes of an expression"); err != nil {
		return nil, err
	}
	if folded.MatchString(pattern) && wide.MatchString(pattern) {
		return nil, limitError{fmt.Sprintf("function %q is given an expression with letters that are not ASCII", name), `at most letters of ASCII with (?i)`}
	}
	if err := a.charge(costParsed*len(pattern) + costClass*len(class.FindAllString(pattern, -1))); err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	e := &expression{size: sizeOf(parsed)}
	if err := atMost(name, e.size, maxExpressionSize, "parts of an expression, with its repetitions"); err != nil {
		return nil, err
	}
	if err := a.charge(costCompiled * e.size); err != nil {
		return nil, err
	}
	if e.Regexp, err = regexp.Compile(pattern); err != nil {
		return nil, err
	}
	if a.compiled == nil {
		a.compiled = map[string]*expression{}
	}
	a.compiled[pattern] = e
	return e, nil
}

// sizeOf returns how many parts an expression has with each repetition written out.
func sizeOf(e *syntax.Regexp) int {
	size := 1 + len(e.Rune)/8
	for _, part := range e.Sub {
		size += sizeOf(part)
	}
	if e.Op == syntax.OpRepeat {
		size *= 1 + max(e.Min, e.Max)
	}
	if e.Op == syntax.OpLiteral {
		size = 1 + len(e.Rune)
	}
	return min(size, maxExpressionSize+1)
}

// searches are sprig's functions of a regular expression, without their prefix.
var searches = []string{"Match", "Find", "ReplaceAll"}

// noSearch is a placeholder for a function of a regular expression, which search makes for an
// account.
func noSearch() string { return "" }

// search returns sprig's function of a regular expression, nil for any other function. The account
// compiles the expression and charges for it.
func (a *account) search(name string) any {
	_, does, _ := strings.Cut(name, "egex")
	switch does {
	case "Match":
		return func(pattern, text string) (bool, error) {
			e, err := a.searched(name, pattern, text, false)
			if invalid := (*syntax.Error)(nil); name == "regexMatch" && errors.As(err, &invalid) {
				return false, nil // as sprig v3.3.0, regex.go, regexMatch
			}
			return err == nil && e.MatchString(text), err
		}
	case "Find":
		return func(pattern, text string) (string, error) {
			e, err := a.searched(name, pattern, text, false)
			if err != nil {
				return "", err
			}
			return e.FindString(text), nil
		}
	case "ReplaceAll":
		return func(pattern, text, by string) (string, error) {
			e, err := a.searched(name, pattern, text, true)
			if err == nil {
				err = fits(name, len(text)*(1+strings.Count(by, "$")), len(text)+1, len(by))
			}
			if err != nil {
				return "", err
			}
			return e.ReplaceAllString(text, by), nil
		}
	}
	return nil
}

// searched compiles an expression and charges for searching its first match, or all matches.
func (a *account) searched(name, pattern, text string, all bool) (*expression, error) {
	if err := atMost(name, len(text), maxSearched, "bytes to search"); err != nil {
		return nil, err
	}
	e, err := a.compile(name, pattern)
	if err != nil {
		return nil, err
	}
	times := 1
	if all {
		times += len(e.FindAllStringIndex(text, -1))
	}
	return e, a.charge(costSearched * e.size * (8 + len(text)) * times)
}

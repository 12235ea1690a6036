package tmpl

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits of regular expressions: their text, and what it is compiled to ((a{1000}){1000} is short).
const (
	maxExpression   = 1000
	maxInstructions = 10_000
)

// Costs of compiling a regular expression, in bytes.
const (
	costClass       = 64 << 10 // \pL and its kin: some hundred ranges
	costFold        = 1 << 20  // a range that may hold all letters there are, each to be folded
	costInstruction = 256
	costRune        = 8 // a bound of a range of an instruction
)

// expression is a compiled regular expression.
type expression struct {
	*regexp.Regexp
	instructions int
}

// turn is the cost of looking for one match as if it were looked for up to the text's end, which it
// can take: the time is quadratic in the text then.
func (e *expression) turn(text string) int { return e.instructions * (8 + len(text)/2) }

var (
	unicodeClass = regexp.MustCompile(`\\[pP]`)
	foldFlag     = regexp.MustCompile(`\(\?[a-zA-Z-]*i`)
	// wideRange is a range that may end beyond ASCII, as far as the text around its hyphen tells.
	wideRange = regexp.MustCompile(`-[\\[:^ascii:]]`)
)

// parsing is the cost of parsing an expression, by its text alone: it is known before any of it is
// spent.
func parsing(pattern string) int {
	cost := costText*len(pattern) + costClass*len(unicodeClass.FindAllString(pattern, -1))
	if foldFlag.MatchString(pattern) {
		cost += costFold * len(wideRange.FindAllString(pattern, -1))
	}
	return cost
}

// compile compiles an expression once in an execution, and charges for it.
func (a *account) compile(name, pattern string) (*expression, error) {
	if e := a.compiled[pattern]; e != nil {
		return e, nil
	}
	if len(pattern) > maxExpression {
		return nil, limitError{fmt.Sprintf("function %q is given an expression of %d bytes", name, len(pattern)), fmt.Sprintf("at most %d bytes", maxExpression)}
	}
	if err := a.charge(parsing(pattern)); err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxInstructions {
		return nil, limitError{fmt.Sprintf("function %q is given an expression of %d instructions", name, len(prog.Inst)), fmt.Sprintf("at most %d", maxInstructions)}
	}
	runes := 0
	for _, inst := range prog.Inst {
		runes += len(inst.Rune)
	}
	if err := a.charge(costInstruction*len(prog.Inst) + costRune*runes); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	if a.compiled == nil {
		a.compiled = map[string]*expression{}
	}
	a.compiled[pattern] = &expression{re, len(prog.Inst)}
	return a.compiled[pattern], nil
}

// search is sprig's function of a regular expression, by an expression that the account has
// compiled and charged for; nil for any other function.
func (a *account) search(name string) any {
	_, does, _ := strings.Cut(name, "egex")
	switch does {
	case "Match":
		return func(pattern, text string) (bool, error) {
			e, err := a.first(name, pattern, text)
			if invalid := (*syntax.Error)(nil); name == "regexMatch" && errors.As(err, &invalid) {
				return false, nil // as sprig v3.3.0, regex.go, regexMatch
			}
			return err == nil && e.MatchString(text), err
		}
	case "Find":
		return func(pattern, text string) (string, error) {
			e, err := a.first(name, pattern, text)
			if err != nil {
				return "", err
			}
			return e.FindString(text), nil
		}
	case "FindAll", "Split":
		return func(pattern, text string, n int) ([]string, error) {
			e, _, err := a.all(name, pattern, text)
			switch {
			case err != nil:
				return nil, err
			case does == "Split":
				return e.Split(text, n), nil
			}
			return e.FindAllString(text, n), nil
		}
	case "ReplaceAll", "ReplaceAllLiteral":
		return func(pattern, text, by string) (string, error) {
			e, matches, err := a.all(name, pattern, text)
			if err == nil {
				err = makes(name, len(text)*(1+strings.Count(by, "$")), matches, len(by))
			}
			switch {
			case err != nil:
				return "", err
			case does == "ReplaceAll":
				return e.ReplaceAllString(text, by), nil
			}
			return e.ReplaceAllLiteralString(text, by), nil
		}
	}
	return nil
}

// first compiles an expression and charges for looking for its first match.
func (a *account) first(name, pattern, text string) (*expression, error) {
	e, err := a.compile(name, pattern)
	if err != nil {
		return nil, err
	}
	return e, a.charge(e.turn(text))
}

// all is first for all matches; it counts them.
func (a *account) all(name, pattern, text string) (e *expression, matches int, err error) {
	if e, err = a.first(name, pattern, text); err != nil {
		return nil, 0, err
	}
	defer func() {
		if r := recover(); r != nil {
			var limit limitError
			if e, ok := r.(error); !ok || !errors.As(e, &limit) {
				panic(r) //nolint:forbidigo // passed on
			}
			err = limit
		}
	}()
	e.ReplaceAllStringFunc(text, func(string) string {
		if err := a.charge(e.turn(text)); err != nil {
			panic(err) //nolint:forbidigo // the only way out of the search
		}
		matches++
		return ""
	})
	return e, matches, nil
}

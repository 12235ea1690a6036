package tenanttest

import "fmt"

// decisions are the choices of a commit, one byte each. What follows the last is the first of each
// kind.
type decisions struct{ left []byte }

func (d *decisions) next() byte {
	if len(d.left) == 0 {
		return 0
	}
	b := d.left[0]
	d.left = d.left[1:]
	return b
}

// below is a number from 0 to n-1.
func (d *decisions) below(n int) int { return int(d.next()) % n }

// oneIn is true for one of n choices, and never after the last.
func (d *decisions) oneIn(n int) bool { return d.below(n) == n-1 }

func (d *decisions) pick(options ...string) string { return options[d.below(len(options))] }

// raw takes bytes as they are.
func (d *decisions) raw() string {
	n := min(d.below(64), len(d.left))
	text := string(d.left[:n])
	d.left = d.left[n:]
	return text
}

// quoted is a text as YAML and JSON write it.
func quoted(text string) string { return fmt.Sprintf("%q", text) }

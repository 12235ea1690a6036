package tenanttest

import "fmt"

// decisions holds the choices of a commit, one byte each. After the last byte, each choice is its
// first option.
type decisions struct{ left []byte }

func (d *decisions) next() byte {
	if len(d.left) == 0 {
		return 0
	}
	b := d.left[0]
	d.left = d.left[1:]
	return b
}

// below returns a number from 0 to n-1.
func (d *decisions) below(n int) int { return int(d.next()) % n }

// oneIn returns true for one of n choices, and false after the last byte.
func (d *decisions) oneIn(n int) bool { return d.below(n) == n-1 }

func (d *decisions) pick(options ...string) string { return options[d.below(len(options))] }

// raw returns up to 63 bytes unchanged.
func (d *decisions) raw() string {
	n := min(d.below(64), len(d.left))
	text := string(d.left[:n])
	d.left = d.left[n:]
	return text
}

// quoted returns a text as a double-quoted string.
func quoted(text string) string { return fmt.Sprintf("%q", text) }

package verify

import (
	"fmt"
	"io"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// WriteText writes a verification for people.
func (v Verification) WriteText(w io.Writer) error {
	var b strings.Builder
	last := ""
	for _, d := range v.Differences {
		if d.Argosy != last {
			last = d.Argosy
			fmt.Fprintf(&b, "~ %s on %s", d.Argosy, d.Cluster)
			if d.Live != d.Argosy {
				fmt.Fprintf(&b, ", live as %s", d.Live)
			}
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "    %s: %s, live %s\n", d.Path, Shown(d.Value, 400), Shown(d.LiveValue, 400))
		if !d.Position.IsZero() {
			fmt.Fprintf(&b, "        at %s\n", d.Position)
		}
	}
	for _, name := range v.OnlyArgosy {
		fmt.Fprintf(&b, "+ %s does not live\n", name)
	}
	for _, name := range v.OnlyLive {
		fmt.Fprintf(&b, "- %s lives, and Argosy does not make it\n", name)
	}
	if len(v.OnlyArgosy) > 0 && len(v.OnlyLive) > 0 {
		b.WriteString("    hint: --names FILE pairs the Applications that belong together, a line for each \"live-name: name-of-argosy\"\n")
	}
	for _, p := range v.Problems {
		at := ""
		if !p.Pos.IsZero() {
			at = p.Pos.String() + ": "
		}
		fmt.Fprintf(&b, "error: %s%s\n", at, p.Message)
		for _, hint := range p.Hints {
			fmt.Fprintf(&b, "    hint: %s\n", hint)
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d of %d Applications are equal", v.Equal, v.Compared)
	for _, more := range []struct {
		n    int
		text string
	}{{len(v.Renamed), "have another name"}, {len(v.OnlyArgosy), "do not live"}, {len(v.OnlyLive), "live alone"}, {len(v.Problems), "cannot be read"}} {
		if more.n > 0 {
			fmt.Fprintf(&b, "; %d %s", more.n, more.text)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// Shown formats a value for people, in at most so many bytes.
func Shown(v any, most int) string {
	if v == nil {
		return "missing"
	}
	return problem.Truncate(strings.TrimSpace(string(manifest.Canonical(v))), most)
}

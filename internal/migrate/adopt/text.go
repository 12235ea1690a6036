package adopt

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteText writes a handover for people: its Applications and its steps.
func (r *Record) WriteText(w io.Writer) error {
	var b strings.Builder
	from, to := r.Name(), strings.Join(r.setNames(), ", ")
	if r.Undo {
		from, to = to, from
	}
	fmt.Fprintf(&b, "%s of %s to %s\n", counted(len(r.Applications), "Application"), from, to)
	for _, p := range r.Applications {
		old, now := p.Old, p.New
		if r.Undo {
			old, now = now, old
		}
		if old == now {
			fmt.Fprintf(&b, "    %s\n", old)
		} else {
			fmt.Fprintf(&b, "    %s becomes %s\n", old, now)
		}
	}
	b.WriteByte('\n')
	for i, s := range r.Steps() {
		fmt.Fprintf(&b, "%2d. %-9s%s\n", i+1, s.Name, s.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Record) setNames() (out []string) {
	for _, s := range r.New {
		out = append(out, nameOf(s.Manifest))
	}
	slices.Sort(out)
	return out
}

// Described is a step for people.
type Described struct{ Name, Text string }

// Steps describes the steps of a handover from its beginning.
func (r *Record) Steps() []Described {
	from, to := set(r.Name()), set(r.setNames()...)
	taking := to + " names the Applications in its selector, and takes them over"
	if r.Undo {
		from, to = to, from
		taking = to + " is created as it was, and takes the Applications over"
	}
	out := []Described{
		{stepAnnounce, to + " is created, with a selector that matches nothing; its generator answers"},
		{stepHold, from + " gets preserveResourcesOnDeletion and the finalizer " + finalizer},
		{stepOrphan, from + " is deleted without its Applications, which lose their ownerReferences"},
		{stepPause, "the Applications lose their automated sync and Argo CD's finalizers"},
		{stepWrite, "the Applications get the new spec, still without automated sync"},
		{stepCompare, "Argo CD finds the same objects, and no difference where the name stays"},
		{stepTake, taking},
		{stepSync, "the Applications are synced again: of new names, by new tracking ids"},
		{stepDelete, fmt.Sprintf("%s of an old name %s, without finalizers", counted(r.Renamed(), "Application"), is(r.Renamed(), "is deleted", "are deleted"))},
		{stepFinish, "the selector is removed when all Applications of " + to + " are handed over"},
	}
	if r.Undo {
		out = out[1:]
		out[len(out)-1].Text = "the record is deleted"
	}
	if r.Renamed() == 0 {
		out = slices.DeleteFunc(out, func(d Described) bool { return d.Name == stepDelete })
	}
	return out
}

// set names ApplicationSets.
func set(names ...string) string {
	if len(names) == 1 {
		return "ApplicationSet " + names[0]
	}
	return "each of the ApplicationSets " + strings.Join(names, ", ")
}

func is(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func counted(n int, what string) string { return fmt.Sprintf("%d %s", n, is(n, what, what+"s")) }

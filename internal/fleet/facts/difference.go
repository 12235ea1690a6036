package facts

import (
	"fmt"
	"maps"
	"slices"
)

// difference returns the first difference between two clusters' facts, as in
// `label "a" is "b", not "c"`; empty when they are the same.
func (c Cluster) difference(d Cluster) string {
	if c.Server != d.Server {
		return fmt.Sprintf("server is %q, not %q", d.Server, c.Server)
	}
	for _, m := range []struct {
		what string
		c, d map[string]string
	}{{"label", c.Labels, d.Labels}, {"annotation", c.Annotations, d.Annotations}} {
		for _, key := range slices.Sorted(maps.Keys(m.c)) {
			switch value, ok := m.d[key]; {
			case !ok:
				return fmt.Sprintf("%s %q is missing", m.what, key)
			case value != m.c[key]:
				return fmt.Sprintf("%s %q is %q, not %q", m.what, key, value, m.c[key])
			}
		}
		for _, key := range slices.Sorted(maps.Keys(m.d)) {
			if _, ok := m.c[key]; !ok {
				return fmt.Sprintf("%s %q is there", m.what, key)
			}
		}
	}
	return ""
}

// difference returns the first difference between two elements of lists.
func (l listed) difference(m listed) string {
	if l.object != m.object {
		return "it is a different one"
	}
	return l.cluster.difference(m.cluster)
}

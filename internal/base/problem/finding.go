package problem

import (
	"fmt"
	"slices"
	"strings"
)

// Finding is a problem as reports write it.
type Finding struct {
	Problem
	// Message says what is wrong in one line, without position and hints.
	Message string `json:"message"`
}

// NewFinding reports a problem.
func NewFinding(p Problem) Finding {
	f := Finding{Problem: p}
	p.Hints, p.Related = nil, nil
	f.Message = p.Message()
	return f
}

// Findings reports problems, in their order.
func Findings(ps []Problem) []Finding {
	out := make([]Finding, 0, len(ps))
	for _, p := range ps {
		out = append(out, NewFinding(p))
	}
	return out
}

// OnePerPlace merges problems that differ only in their cluster: a file at a general level is
// reported once. A problem of only one cluster keeps its cluster.
func OnePerPlace(ps []Problem) []Problem {
	var out []Problem
	seen := map[string]int{}
	several := map[int]bool{}
	for _, p := range ps {
		key := string(p.Reason) + "\x00" + p.Error()
		i, dup := seen[key]
		switch {
		case !dup:
			seen[key] = len(out)
			out = append(out, p)
		case p.Cluster == "" || several[i]:
		case out[i].Cluster == "":
			out[i].Hub, out[i].Cluster = p.Hub, p.Cluster
		case out[i].Cluster != p.Cluster || out[i].Hub != p.Hub:
			out[i].Hub, out[i].Cluster = "", ""
			several[i] = true
		}
	}
	return out
}

// PerCause merges warnings that differ in place, subject and hints only. The first has the place
// and the hints; it names the first subjects and counts the others.
func PerCause(ps []Problem) []Problem {
	const most = 3
	var out []Problem
	at, subjects := map[string]int{}, map[int][]string{}
	for _, p := range ps {
		key := string(p.Reason) + "\x00" + p.Found
		i, known := at[key]
		if !known || p.Severity == Error || p.Subject == "" {
			at[key], i = len(out), len(out)
			out = append(out, p)
		}
		if !slices.Contains(subjects[i], p.Subject) {
			subjects[i] = append(subjects[i], p.Subject)
		}
	}
	for i, all := range subjects {
		if n := len(all) - most; n > 1 {
			out[i].Subject = fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), n)
		} else {
			out[i].Subject = strings.Join(all, ", ")
		}
	}
	return out
}

// Same reports whether two lists of problems read the same.
func Same(a, b []Problem) bool {
	return slices.EqualFunc(a, b, func(p, q Problem) bool {
		return p.Reason == q.Reason && p.Error() == q.Error() && strings.Join(p.Hints, "\n") == strings.Join(q.Hints, "\n")
	})
}

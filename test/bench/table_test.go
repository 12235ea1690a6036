package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// goal is what a figure is to be.
type goal struct {
	// atLeast tells that more is better, else less is.
	atLeast bool
	value   float64
	// unit is "x" for a ratio, "%" or "s"; empty without a goal.
	unit string
}

func atLeast(v float64, unit string) goal { return goal{true, v, unit} }
func atMost(v float64, unit string) goal  { return goal{false, v, unit} }

func (g goal) String() string {
	switch {
	case g.value == 0:
		return "-"
	case g.atLeast:
		return "at least " + number(g.value) + g.unit
	}
	return "at most " + number(g.value) + g.unit
}

// verdict says whether a figure reaches its goal, or by how much it falls short.
func (g goal) verdict(v float64) string {
	switch {
	case g.value == 0:
		return ""
	case g.atLeast == (v >= g.value) || v == g.value:
		return "reached"
	case g.atLeast:
		return fmt.Sprintf("short by a factor of %.2g", g.value/v)
	}
	return fmt.Sprintf("over by a factor of %.2g", v/g.value)
}

func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// figure is a row of the table: the median of its rounds.
type figure struct {
	what, fleet, against string
	goal                 goal
	rounds               []float64
	detail               string
}

func (f figure) key() string { return f.what + " | " + f.fleet }

func (f figure) value() float64 { return median(f.rounds) }

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	if len(v)%2 == 1 {
		return v[len(v)/2]
	}
	return (v[len(v)/2-1] + v[len(v)/2]) / 2
}

// table writes figures with their goals side by side.
func table(w io.Writer, figures []figure) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "what\tfleet\tagainst\tgoal\tfigure\trounds from to\t\tdetail")
	for _, f := range figures {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s%s\t%s to %s\t%s\t%s\n", f.what, f.fleet, f.against, f.goal, number(f.value()), f.goal.unit,
			number(slices.Min(f.rounds)), number(slices.Max(f.rounds)), f.goal.verdict(f.value()), f.detail)
	}
	_ = out.Flush() // w is a terminal or a buffer
}

// saved is what a file of an earlier run holds.
type saved struct {
	Machine string               `json:"machine"`
	Clock   string               `json:"clock"`
	Rounds  map[string][]float64 `json:"rounds"`
}

func machine() string {
	return fmt.Sprintf("%s %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

func save(file, clock string, figures []figure) error {
	s := saved{Machine: machine(), Clock: clock, Rounds: map[string][]float64{}}
	for _, f := range figures {
		s.Rounds[f.key()] = f.rounds
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// load reads an earlier run, which has to be by the same clock: processor time and time that passes
// cannot be compared.
func load(file, clock string) (*saved, error) {
	var s saved
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if s.Clock != clock {
		return nil, fmt.Errorf("%s: measured with -clock %q; expected %q, as now", file, s.Clock, clock)
	}
	return &s, nil
}

// leastRounds is how many rounds a figure needs before its smallest and largest say anything of how
// much it varies.
const leastRounds = 3

// compare writes how figures differ from those of an earlier run. Where the rounds of both overlap,
// or are too few to tell, nothing is known: "~".
func compare(w io.Writer, old saved, figures []figure) {
	fmt.Fprintf(w, "before: %s\nnow:    %s\n", old.Machine, machine())
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "what\tfleet\tbefore\tnow\t")
	for _, f := range figures {
		before := old.Rounds[f.key()]
		if len(before) == 0 {
			fmt.Fprintf(out, "%s\t%s\t-\t%s%s\tnew\n", f.what, f.fleet, number(f.value()), f.goal.unit)
			continue
		}
		fmt.Fprintf(out, "%s\t%s\t%s%s\t%s%s\t%s\n", f.what, f.fleet, number(median(before)), f.goal.unit, number(f.value()), f.goal.unit, change(before, f))
	}
	_ = out.Flush()
}

func change(before []float64, f figure) string {
	if min(len(before), len(f.rounds)) < leastRounds {
		return "~ (fewer than 3 rounds)"
	}
	if slices.Min(before) <= slices.Max(f.rounds) && slices.Min(f.rounds) <= slices.Max(before) {
		return "~"
	}
	better := "worse"
	if (f.value() > median(before)) == f.goal.atLeast {
		better = "better"
	}
	return strings.TrimSpace(fmt.Sprintf("%+.0f %% %s", 100*(f.value()/median(before)-1), better))
}

package tmpl

import (
	"sort"
	"text/template/parse"
)

// textLines finds the line at which each piece of literal text of a template starts. It identifies
// a piece by the address of its bytes, which text/template writes unchanged (exec.go, walk, case
// *parse.TextNode). Actions print other addresses.
func textLines(trees map[string]*parse.Tree, source string) map[*byte]int {
	lines := map[*byte]int{}
	var ends []int // of all lines
	for i := range len(source) {
		if source[i] == '\n' {
			ends = append(ends, i)
		}
	}
	for _, tree := range trees {
		inspect(tree.Root, func(n parse.Node) {
			if text, ok := n.(*parse.TextNode); ok && len(text.Text) > 0 {
				lines[&text.Text[0]] = 1 + sort.SearchInts(ends, int(text.Pos))
			}
		})
	}
	return lines
}

// lineWriter records the template's line for each line of the output. That is the line of its first
// literal text or, if an action printed it, of the text before.
type lineWriter struct {
	limited
	text  map[*byte]int
	lines []int
	at    int  // the template's line
	fresh bool // nothing is on the output's last line yet
	// unplaced is the first of the last lines that only actions have written to so far.
	unplaced int
}

func newLineWriter(text, marks map[*byte]int) *lineWriter {
	return &lineWriter{limited: limited{marks: marks}, text: text, lines: []int{1}, at: 1, fresh: true}
}

func (w *lineWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return w.limited.Write(p)
	}
	start, literal := w.text[&p[0]]
	if literal {
		w.at = start
		for i := w.unplaced; i < len(w.lines) && !w.fresh; i++ {
			w.lines[i] = start
		}
	}
	for _, c := range p {
		if w.fresh {
			w.lines[len(w.lines)-1], w.fresh = w.at, false
		}
		if c == '\n' {
			if literal {
				w.at++
			}
			w.lines, w.fresh = append(w.lines, w.at), true
		}
	}
	switch {
	case w.fresh:
		w.unplaced = len(w.lines) - 1
	case literal:
		w.unplaced = len(w.lines)
	}
	return w.limited.Write(p)
}

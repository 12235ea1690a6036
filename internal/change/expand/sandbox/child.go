package sandbox

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// request is a chart to render, with the content of its archive.
type request struct {
	Chart   source.Chart
	Archive []byte
}

// response holds the objects that a chart makes, or why it makes none.
type response struct {
	Manifests []object `json:"manifests,omitempty"`
	Failure   string   `json:"failure,omitempty"`
	Beyond    *string  `json:"beyond,omitempty"` // the hint, if Failure is a source.NotFollowed
}

// object is an object of a chart. The releases of a chart share its definitions, which are large: a
// child sends the tree of a definition once, and its digest each time.
type object struct {
	Template   string        `json:"template"`
	Size       int           `json:"size,omitempty"`
	Tree       manifest.Tree `json:"tree,omitempty"`
	Definition string        `json:"definition,omitempty"`
}

// Serve renders charts in a child process until its input ends, and returns the exit status.
func Serve(charts source.Charts, in io.Reader, out io.Writer) int {
	responses := json.NewEncoder(out)
	// Go's collector stays below the kernel's limit as long as it can.
	debug.SetMemoryLimit(maxMemory / 4 * 3)
	debug.SetMaxStack(maxMemory / 8)
	if err := restrict(); err != nil {
		_ = responses.Encode(response{Failure: "the process that renders charts cannot be bounded: " + err.Error()})
		return 1
	}
	requests, sent := gob.NewDecoder(bufio.NewReader(in)), map[string]bool{}
	for {
		var q request
		if err := requests.Decode(&q); err != nil {
			return 0
		}
		orphan := time.AfterFunc(2*maxTime, func() {
			os.Exit(1) //nolint:forbidigo // without a parent that ends it
		})
		if err := responses.Encode(respond(charts, q, sent)); err != nil {
			return 1
		}
		orphan.Stop()
	}
}

// respond renders a chart. sent has the digests of the definitions that the parent has.
func respond(charts source.Charts, q request, sent map[string]bool) (out response) {
	defer func() {
		if p := recover(); p != nil {
			out = response{Failure: fmt.Sprintf("Helm panics: %v", p)}
		}
	}()
	if q.Chart.Archive != nil {
		q.Chart.Archive.Open = func() ([]byte, error) { return q.Archive, nil }
	}
	found, err := charts.Template(q.Chart)
	var beyond source.NotFollowed
	switch {
	case errors.As(err, &beyond):
		return response{Failure: err.Error(), Beyond: &beyond.Hint}
	case err != nil:
		return response{Failure: err.Error()}
	}
	for _, m := range found {
		next := object{Template: m.Template, Size: m.Size, Tree: m.Tree}
		if m.Size == 0 {
			if next.Definition = m.Digest(); sent[next.Definition] {
				next.Tree = nil
			}
			sent[next.Definition] = true
		}
		out.Manifests = append(out.Manifests, next)
	}
	return out
}

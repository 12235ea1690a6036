package sandbox

import (
	"bufio"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// request is a chart to render. Key names its files. With Whole they are in Files or Archive;
// otherwise the child already has them.
type request struct {
	Chart   source.Chart
	Key     string
	Whole   bool
	Files   []chartFile
	Archive []byte
}

type chartFile struct {
	Path, Digest string
	Data         []byte
}

// response holds the objects that a chart makes, or why it makes none.
type response struct {
	Manifests []made  `json:"manifests,omitempty"`
	Failure   string  `json:"failure,omitempty"`
	Beyond    *string `json:"beyond,omitempty"`  // the hint, if Failure is a source.NotFollowed
	Unknown   bool    `json:"unknown,omitempty"` // the request must include the files
}

// made is an object. For a definition that the child has sent before, it holds only the digest.
type made struct {
	Template string          `json:"template"`
	Size     int             `json:"size"`
	Tree     json.RawMessage `json:"tree,omitempty"`
	Shared   string          `json:"shared,omitempty"`
}

// maxHeld bounds the files of charts that a child keeps, in bytes.
const maxHeld = 64 << 20

// server is the child's side.
type server struct {
	charts source.Charts
	held   map[string]source.Chart // only the files, by request.Key
	size   int
	sent   map[string]bool // digests of definitions
}

// Serve renders charts in a child process until its input ends, and returns the exit status.
func Serve(charts source.Charts, in io.Reader, out io.Writer) int {
	if err := restrict(); err != nil {
		_ = write(out, response{Failure: "the process that renders charts cannot be bounded: " + err.Error()})
		return 1
	}
	s := server{charts: charts, held: map[string]source.Chart{}, sent: map[string]bool{}}
	requests := gob.NewDecoder(bufio.NewReader(in))
	for {
		var r request
		if err := requests.Decode(&r); err != nil {
			return 0
		}
		if err := write(out, s.respond(r)); err != nil {
			return 1
		}
	}
}

func (s *server) respond(r request) (out response) {
	defer func() {
		if p := recover(); p != nil {
			out = response{Failure: fmt.Sprintf("Helm panics: %v", p)}
		}
	}()
	if err := beginRendering(); err != nil {
		return response{Failure: err.Error()}
	}
	files, known := s.held[r.Key]
	switch {
	case known:
	case !r.Whole:
		return response{Unknown: true}
	default:
		files = s.hold(r)
	}
	c := r.Chart
	c.Files, c.Archive = files.Files, files.Archive
	found, err := s.charts.Template(c)
	var beyond source.NotFollowed
	switch {
	case errors.As(err, &beyond):
		return response{Failure: err.Error(), Beyond: &beyond.Hint}
	case err != nil:
		return response{Failure: err.Error()}
	}
	for _, m := range found {
		next := made{Template: m.Template, Size: m.Size}
		if m.Size == 0 { // a definition, which the releases of a chart share
			next.Shared = m.Digest()
		}
		if !s.sent[next.Shared] {
			if next.Tree, err = json.Marshal(m.Tree); err != nil {
				return response{Failure: fmt.Sprintf("%s: %v", m.Template, err)}
			}
		}
		if next.Shared != "" {
			s.sent[next.Shared] = true
		}
		out.Manifests = append(out.Manifests, next)
	}
	return out
}

// hold keeps a chart's files for later requests.
func (s *server) hold(r request) source.Chart {
	var c source.Chart
	size := len(r.Archive)
	if r.Archive != nil {
		c.Archive = &source.Archive{Digest: r.Key, Open: func() ([]byte, error) { return r.Archive, nil }}
	}
	for _, f := range r.Files {
		c.Files = append(c.Files, &snapshot.File{Path: f.Path, Digest: f.Digest, Data: f.Data})
		size += len(f.Data)
	}
	if s.size += size; s.size > maxHeld {
		clear(s.held)
		s.size = size
	}
	s.held[r.Key] = c
	return c
}

// write writes a response after its length.
func write(out io.Writer, r response) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)) //nolint:gosec // beyond maxMade the parent reads no more
	return err
}

// read reads a response of at most maxMade bytes.
func read(in io.Reader) (response, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return response{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxMade {
		return response{}, errTooMuch
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(in, data); err != nil {
		return response{}, err
	}
	var r response
	err := json.Unmarshal(data, &r)
	return r, err
}

// errTooMuch is a response beyond maxMade.
var errTooMuch = fmt.Errorf("it makes more than %d bytes, which is the limit", maxMade)

// manifests decodes the objects of a response. Definitions that came before are in shared, which
// gets new ones.
func (r response) manifests(shared map[string]manifest.Manifest) ([]manifest.Manifest, error) {
	out := make([]manifest.Manifest, 0, len(r.Manifests))
	for _, m := range r.Manifests {
		if known, ok := shared[m.Shared]; ok && m.Shared != "" {
			known.Template = m.Template
			out = append(out, known)
			continue
		}
		var tree manifest.Tree
		if err := json.Unmarshal(m.Tree, &tree); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Template, err)
		}
		next := manifest.New(m.Template, tree, m.Size)
		if m.Shared != "" {
			shared[m.Shared] = next
		}
		out = append(out, next)
	}
	return out, nil
}

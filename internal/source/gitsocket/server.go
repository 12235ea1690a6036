package gitsocket

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

const (
	// maxClients bounds the conversations at a time. The service needs one.
	maxClients = 4
	// requestTime is how long a client may take to send its request.
	requestTime = 10 * time.Second
)

// Server serves the snapshots of one source to clients.
type Server struct {
	Source source.Source // its String names the repository
	Ref    string
	Log    *slog.Logger

	mu   sync.Mutex
	last *snapshot.Snapshot // the last snapshot that a client got, the base of a difference
}

// Listen opens the socket. It replaces a socket that an earlier process has left.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("socket %q: another process listens", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o660); err != nil { //nolint:gosec // the service may have another user of the same group
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Serve serves clients until the context ends, and closes the listener. If a connection cannot be
// accepted, for example without free file descriptors, Serve and the client try again.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var clients sync.WaitGroup
	defer clients.Wait()
	free := make(chan struct{}, maxClients)
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			s.Log.Warn("a connection has not been accepted", "error", err)
			select {
			case <-time.After(retryTime):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case free <- struct{}{}:
		default: // a client that hangs frees its place by its deadlines
			_ = conn.Close()
			continue
		}
		clients.Go(func() {
			defer func() { <-free }()
			err := s.answer(ctx, conn)
			if err = errors.Join(err, conn.Close()); err != nil && ctx.Err() == nil {
				s.Log.Warn("a poll has not been answered", "error", err)
			}
		})
	}
}

// answer runs one conversation.
func (s *Server) answer(ctx context.Context, conn net.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := conn.SetReadDeadline(time.Now().Add(requestTime)); err != nil {
		return err
	}
	in := bufio.NewReaderSize(conn, maxLine)
	var r request
	if err := readLine(in, &r); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // a probe of whether the server runs
		}
		return fmt.Errorf("read a request: %w", err)
	}
	out := bufio.NewWriterSize(&patientWriter{conn}, 64<<10)
	if wrong := s.check(r); wrong != nil {
		return errors.Join(writeLine(out, frame{Start: &start{Error: wrong}}), writeLine(out, frame{End: true}), out.Flush())
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	go func() { // stops the poll of a client that goes away; it sends nothing more
		_, _ = in.ReadByte()
		cancel()
	}()
	snap, err, gone := s.poll(ctx, out)
	if gone != nil {
		return gone
	}
	return s.send(out, r.Have, snap, err)
}

// check rejects a client that expects another repository or ref.
func (s *Server) check(r request) *failure {
	name := s.Source.String()
	switch {
	case r.Protocol != protocol:
		return &failure{source.InvalidOptions, fmt.Sprintf("Git's process speaks protocol %d, the service %d", protocol, r.Protocol), "run both from one image"}
	case r.Source != name || r.Ref != s.Ref:
		return &failure{source.InvalidOptions, fmt.Sprintf("Git's process reads %s at %q", name, s.Ref), "give both processes the same --source and --ref"}
	}
	return nil
}

// poll polls the source, and sends busy frames meanwhile.
func (s *Server) poll(ctx context.Context, out *bufio.Writer) (snap *snapshot.Snapshot, err, gone error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		snap, err = s.Source.Snapshot(ctx)
	}()
	tick := time.NewTicker(busyInterval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return snap, err, ctx.Err()
		case <-tick.C:
			if gone == nil {
				gone = errors.Join(writeLine(out, frame{Busy: true}), out.Flush())
			}
		}
	}
}

// send sends the result of a poll. A client that has a snapshot gets none next to an error: it
// keeps its own.
func (s *Server) send(out *bufio.Writer, have string, snap *snapshot.Snapshot, err error) error {
	var begin start
	if err != nil {
		begin.Error = &failure{Reason: source.ReasonOf(err), Detail: text(err.Error())}
		var e *source.Error
		if errors.As(err, &e) {
			begin.Error = &failure{e.Reason, text(e.Detail), text(e.Hint)}
		}
	}
	if snap == nil || err != nil && have != "" {
		return errors.Join(writeLine(out, frame{Start: &begin}), writeLine(out, frame{End: true}), out.Flush())
	}
	s.mu.Lock()
	base := s.last
	s.mu.Unlock()
	switch {
	case have == snap.Revision:
		base = snap
	case base != nil && have != base.Revision:
		base = nil
	}
	begin.Revision, begin.Commit = snap.Revision, snap.Commit()
	if base != nil {
		begin.Base = base.Revision
	}
	if err := writeLine(out, frame{Start: &begin}); err != nil {
		return err
	}
	for _, path := range snapshot.Changed(base, snap) {
		f := snap.File(path)
		if folder := snap.BrokenFolder(path); folder != nil && folder.Path != path {
			f = nil // the folder's entry covers it
		}
		if err := sendFile(out, path, f); err != nil {
			return err
		}
	}
	if base != snap {
		for _, o := range snap.Obstacles() {
			if err := writeLine(out, frame{File: &file{Path: []byte(o.Path), Folder: o.Folder, Fault: faultOf(o.Err), Obstacle: true}}); err != nil {
				return err
			}
		}
	}
	if err := cmp.Or(writeLine(out, frame{End: true}), out.Flush()); err != nil {
		return err
	}
	s.mu.Lock()
	s.last = snap
	s.mu.Unlock()
	return nil
}

func sendFile(out *bufio.Writer, path string, f *snapshot.File) error {
	switch {
	case f == nil:
		return writeLine(out, frame{Gone: []byte(path)})
	case f.Err != nil:
		return writeLine(out, frame{File: &file{Path: []byte(path), Folder: f.Folder, Fault: faultOf(f.Err)}})
	}
	if err := writeLine(out, frame{File: &file{Path: []byte(path), Size: int64(len(f.Data))}}); err != nil {
		return err
	}
	_, err := out.Write(f.Data)
	return err
}

// patientWriter times out when the other side reads nothing for long.
type patientWriter struct{ net.Conn }

func (w *patientWriter) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

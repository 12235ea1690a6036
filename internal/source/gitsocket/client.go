package gitsocket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

// startTime is how long a client waits for a server that has never answered: both processes start
// at the same time. retryTime is the pause before it retries a server that could not be reached.
const (
	startTime = 5 * time.Second
	retryTime = time.Second
	dialPause = 50 * time.Millisecond
)

// subject and hint are parts of errors about the server.
const (
	subject = "Git's own process "
	hint    = "see the log of generator-plugin git"
)

// Options configure a Client. All but Limits are required.
type Options struct {
	Socket   string
	Name     string // the repository's name, as its source's String
	Ref      string
	Interval time.Duration
	Limits   source.Limits
}

// Client is a source whose Git runs in another process.
type Client struct {
	source.Watcher
	o       Options
	silence time.Duration

	slot     chan struct{} // held while the server is polled
	answered bool          // the server has answered once
	last     *snapshot.Snapshot
}

// New makes a client. The server need not run yet.
func New(o Options) *Client {
	o.Limits = o.Limits.WithDefaults()
	return &Client{Watcher: source.NewWatcher(o.Interval, true), o: o, silence: silence, slot: make(chan struct{}, 1)}
}

// String returns the repository's name.
func (c *Client) String() string { return c.o.Name }

// Close does nothing: the mirror is the server's.
func (c *Client) Close() error { return nil }

// Watch polls at each interval, and sooner after a server that could not be reached.
func (c *Client) Watch(ctx context.Context, update func(*snapshot.Snapshot, error)) {
	c.Poll(ctx, func(ctx context.Context) (*snapshot.Snapshot, error) {
		s, err := c.Snapshot(ctx)
		if errors.Is(err, source.GitAway) {
			time.AfterFunc(retryTime, c.Refresh)
		}
		return s, err
	}, update)
}

// Snapshot makes the server poll. Next to an error, it returns the last snapshot that was received.
func (c *Client) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	select {
	case c.slot <- struct{}{}:
		defer func() { <-c.slot }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", c.o.Name, ctx.Err())
	}
	s, err := c.ask(ctx)
	if s != nil && (err == nil || c.last == nil) {
		c.last = s
	}
	return c.last, c.errorOf(ctx, err)
}

// errorOf turns a conversation's error into an error of a source.
func (c *Client) errorOf(ctx context.Context, err error) error {
	var polled *source.Error
	var wrong nonsense
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", c.o.Name, ctx.Err())
	case errors.As(err, &polled):
		return polled
	case errors.As(err, &wrong):
		return &source.Error{Reason: source.GitRefused, Source: c.o.Name, Detail: subject + "sends no valid snapshot: " + text(wrong.Error()), Hint: hint}
	case isTimeout(err):
		return &source.Error{Reason: source.GitAway, Source: c.o.Name, Detail: subject + "does not respond", Hint: hint}
	}
	return &source.Error{Reason: source.GitAway, Source: c.o.Name, Detail: subject + "is away", Hint: hint}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// ask runs one conversation.
func (c *Client) ask(ctx context.Context) (*snapshot.Snapshot, error) {
	bounded, cancel := context.WithTimeout(ctx, maxPoll)
	defer cancel()
	conn, err := c.dial(bounded)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(bounded, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	patient := &patientConn{conn, bounded, c.silence}
	have := ""
	if c.last != nil {
		have = c.last.Revision
	}
	if err := writeLine(patient, request{protocol, c.o.Name, c.o.Ref, have}); err != nil {
		return nil, err
	}
	return c.read(patient)
}

// read reads a response.
func (c *Client) read(r io.Reader) (*snapshot.Snapshot, error) {
	in := bufio.NewReaderSize(r, maxLine)
	begin, err := readStart(in)
	if err != nil {
		return nil, err
	}
	s, err := c.receive(in, begin)
	if err != nil {
		return nil, err
	}
	c.answered = true
	if begin.Error != nil {
		return s, &source.Error{Reason: begin.Error.Reason, Source: c.o.Name, Detail: text(begin.Error.Detail), Hint: text(begin.Error.Hint)}
	}
	return s, nil
}

// dial connects. At a start it waits for a server that starts at the same time.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	for until := time.Now().Add(startTime); ; {
		conn, err := (&net.Dialer{Timeout: c.silence}).DialContext(ctx, "unix", c.o.Socket)
		if err == nil || c.answered || ctx.Err() != nil || time.Now().After(until) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(dialPause):
		}
	}
}

// readStart waits for the result of the poll.
func readStart(in *bufio.Reader) (*start, error) {
	for {
		var f frame
		switch err := readLine(in, &f); {
		case err != nil:
			return nil, err
		case f.Busy:
		case f.Start == nil:
			return nil, invalid("files without a beginning")
		case f.Start.Error == nil && f.Start.Revision == "":
			return nil, invalid("neither a snapshot nor an error")
		case f.Start.Error != nil && !f.Start.Error.Reason.IsKnown():
			return nil, invalid("an error without a reason")
		default:
			return f.Start, nil
		}
	}
}

// patientConn times out when the other side sends or reads nothing for long.
type patientConn struct {
	net.Conn
	ctx     context.Context // of the conversation
	silence time.Duration
}

func (p *patientConn) Read(b []byte) (int, error) {
	if err := p.extend(); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

func (p *patientConn) Write(b []byte) (int, error) {
	if err := p.extend(); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

func (p *patientConn) extend() error {
	if err := p.SetDeadline(time.Now().Add(p.silence)); err != nil {
		return err
	}
	if p.ctx.Err() != nil { // after the deadline has been moved: the end of the context moves it back
		return io.ErrUnexpectedEOF
	}
	return nil
}

package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/service/server"
)

// flood begins requests that the service reads the bodies of, until it refuses one. It returns
// their number.
func (s *service) flood(dial func() net.Conn, head, body string) (held int) {
	s.Helper()
	for {
		conn := dial()
		if _, err := fmt.Fprintf(conn, "%sContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", head, len(body)); err != nil {
			s.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // a body would end with its connection
		switch {
		case err != nil:
			s.Fatal(err)
		case r.StatusCode == http.StatusContinue:
			held++
		case r.StatusCode == http.StatusTooManyRequests:
			return held
		default:
			s.Fatalf("status %d", r.StatusCode)
		}
	}
}

// TestFloodOfOneTokenStarvesNoOther: one token takes all slots that it can get, half of them, by
// requests that do not end. Other tokens, whatever their scope, and Argo CD's are served. (H10)
func TestFloodOfOneTokenStarvesNoOther(t *testing.T) {
	k := tokensOf(t, map[string]string{"flood": "{routes: [getparams], tenants: [retail]}", "reader": "{routes: [fleet]}"})
	s := serving(t, k.use, func(o *server.Options) { o.MaxWait = -1 })
	head := strings.Replace(beginning, secret, k.values["flood"], 1)
	if held := s.flood(func() net.Conn { return s.dial() }, head, asked); held != 16 {
		t.Errorf("one token has %d of %d slots", held, server.DefaultMaxConcurrent)
	}
	if r := (caller{s, k.values["reader"]}).get("/api/v1/fleet"); r.code != 200 {
		t.Errorf("another token: %d %s", r.code, r.body)
	}
	if r := s.ask(`{"view":"members"}`); r.code != 200 {
		t.Errorf("Argo CD's: %d %s", r.code, r.body)
	}
	if r := (caller{s, k.values["flood"]}).ask(`{"view":"members"}`); r.code != 429 || !strings.Contains(r.message(), `with token "flood"`) {
		t.Errorf("the flood: %d %s", r.code, r.body)
	}
}

// TestWaitingRequestsOfOneTokenAreBounded: a token has at most as many waiting requests as there
// are slots, so that it does not take all connections. (H10)
func TestWaitingRequestsOfOneTokenAreBounded(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.MaxConcurrent, o.MaxWait = 1, patient })
	conn := s.dial()
	s.underWay(conn, strings.Replace(beginning, "Host: x", "Host: x\r\nConnection: close", 1), asked)
	answers := make(chan reply, 3)
	for range cap(answers) { // one waits, and the others are refused
		go func() { answers <- s.ask(`{"view":"members"}`) }()
	}
	for range cap(answers) - 1 {
		if r := <-answers; r.code != 429 {
			t.Errorf("%d %s", r.code, r.body)
		}
	}
	s.sent(conn, asked)
	if r := <-answers; r.code != 200 {
		t.Errorf("the one that waited: %d %s", r.code, r.body)
	}
}

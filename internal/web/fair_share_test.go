package web_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// dialFrom connects to a server from an address of this machine.
func dialFrom(t *testing.T, server, address string) net.Conn {
	t.Helper()
	from := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(address), 0))
	conn, err := (&net.Dialer{LocalAddr: from}).DialContext(t.Context(), "tcp", server)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// hang begins many requests to sign in whose bodies do not come. It returns when the pages wait for
// the bodies of some of them.
func hang(t *testing.T, server, address, headers string, some int) {
	t.Helper()
	for i := range 20 {
		conn := dialFrom(t, server, address)
		if _, err := fmt.Fprintf(conn, "POST /signin HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", server, headers); err != nil {
			t.Fatal(err)
		}
		if i >= some {
			continue
		}
		r, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // a body would end with its connection
		if err != nil || r.StatusCode != http.StatusContinue {
			t.Fatalf("%v, %v", r, err)
		}
	}
}

// status asks for a page from an address, on a connection of its own.
func status(t *testing.T, server, address, headers, path string) int {
	t.Helper()
	conn := dialFrom(t, server, address)
	// A refusal takes 5 s, and a connection without a request lasts 10 s.
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(8*time.Second)))
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n\r\n", path, server, headers); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	_ = r.Body.Close()
	return r.StatusCode
}

func bearing(token string) string { return "Authorization: Bearer " + token + "\r\n" }

// address is where a server listens.
func address(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	return u.Host
}

// TestStrangersLeaveThePagesToOthers: requests that do not end, without a token, keep no token from
// the pages. (H10)
func TestStrangersLeaveThePagesToOthers(t *testing.T) {
	t.Parallel()
	server := address(t, site(t, wide(t)).URL)
	hang(t, server, "127.0.0.1", "", 8)
	assert.Equal(t, 200, status(t, server, "127.0.0.1", bearing(retail), "/"), "a token")
}

// TestOneTokenLeavesThePagesToOthers: a tenant's token, in as many requests as it can have, keeps
// no other token from the pages. (H10)
func TestOneTokenLeavesThePagesToOthers(t *testing.T) {
	t.Parallel()
	server := address(t, site(t, wide(t)).URL)
	hang(t, server, "127.0.0.1", bearing(retail), 8)
	for _, token := range []string{secret, hubTwo} {
		assert.Equal(t, 200, status(t, server, "127.0.0.1", bearing(token), "/"), "another token")
	}
}

package process

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

const maxAnswer = 200 // of an answer's text in an error

// WaitHTTP is a Spec.Ready: whether a GET of the address is answered with a 2xx. The client may be
// nil.
func WaitHTTP(url string, client *http.Client) func(context.Context) error {
	if client == nil {
		client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return fmt.Errorf("GET %s: %w", url, err)
		}
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			return fmt.Errorf("GET %s: %s: %s", url, resp.Status, strings.TrimSpace(string(text)))
		}
		return nil
	}
}

// WaitTCP is a Spec.Ready: whether a connection to the address is accepted.
func WaitTCP(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

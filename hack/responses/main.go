// Command responses compares the responses of two builds of the service, byte by byte: on the
// example fleet and on generated fleets, for every view, group, component, release and requester.
//
//	go run ./hack/responses OLD NEW
//
// OLD and NEW are folders with a generator-plugin each. The exit status is 1 when a response
// differs.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// startDeadline bounds the time until a service is ready.
const startDeadline = 2 * time.Minute

const token = "the-token-that-compares-responses"

func main() {
	sizes := flag.String("clusters", "100,1000", "sizes of the generated fleets, separated by commas")
	example := flag.String("example", ".", "folder of the example fleet, with examples/facts.yaml")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: responses [--clusters N,...] OLD NEW")
		os.Exit(2)
	}
	if err := run(context.Background(), *example, *sizes, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "responses:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, example, sizes, before, after string) error {
	dir, err := os.MkdirTemp("", "argosy-responses-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tokenFile := filepath.Join(dir, "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		return err
	}
	binaries := []string{before, after}
	facts := filepath.Join(example, "examples", "facts.yaml")
	hubs, err := os.ReadDir(filepath.Join(example, "fleet", "fleet-members"))
	if err != nil {
		return err
	}
	for _, hub := range hubs {
		for _, f := range []string{"none", facts} {
			if err := compare(ctx, binaries, example, hub.Name(), f, tokenFile); err != nil {
				return err
			}
		}
	}
	for _, size := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("--clusters: %w", err)
		}
		fleet := filepath.Join(dir, size)
		if err := fleettest.Write(fleet, fleettest.Files(fleettest.Options{Clusters: n, Components: 20, Overrides: 3, Seed: 1})); err != nil {
			return err
		}
		if err := compare(ctx, binaries, fleet, fleettest.Hub, "none", tokenFile); err != nil {
			return err
		}
	}
	return nil
}

// compare starts both builds on one fleet, one after the other, and compares all their responses.
func compare(ctx context.Context, binaries []string, fleet, hub, facts, tokenFile string) error {
	var all []map[string]response
	for _, dir := range binaries {
		responses, err := ask(ctx, filepath.Join(dir, "generator-plugin"), fleet, hub, facts, tokenFile)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		all = append(all, responses)
	}
	bytesCompared, refused := 0, 0
	for query, before := range all[0] {
		after, ok := all[1][query]
		switch {
		case !ok, before.status != after.status, before.status == http.StatusOK && !bytes.Equal(before.body, after.body):
			return fmt.Errorf("fleet %s, hub %s: %s differs:\n%d %s\n%d %s", fleet, hub, query,
				before.status, head(before.body, after.body), after.status, head(after.body, before.body))
		case before.status != http.StatusOK:
			refused++
		}
		bytesCompared += len(before.body)
	}
	if len(all[0]) != len(all[1]) {
		return fmt.Errorf("fleet %s, hub %s: %d responses before, %d after", fleet, hub, len(all[0]), len(all[1]))
	}
	fmt.Printf("%s, hub %s, facts %s: %d responses (%d of them errors) are equal, %d bytes\n", fleet, hub, facts, len(all[0]), refused, bytesCompared)
	return nil
}

// head is the part of a that begins shortly before it differs from b.
func head(a, b []byte) []byte {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-200):min(len(a), i+200)]
}

type response struct {
	status int
	body   []byte
}

// client sends queries to one running service.
type client struct {
	base string
	out  map[string]response
}

// ask starts a service and returns its response to every query, by query.
func ask(ctx context.Context, binary, fleet, hub, facts, tokenFile string) (_ map[string]response, err error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "--source", fleet, "--hub", hub, "--facts", facts, "--listen", address, "--token-file", tokenFile) //nolint:gosec // the builds to compare are the arguments
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, log.Bytes())
		}
	}()
	c := client{base: "http://" + address, out: map[string]response{}}
	if err := c.waitReady(ctx); err != nil {
		return nil, err
	}
	return c.out, c.sendAll(ctx)
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (c client) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if r, err := c.send(ctx, http.MethodGet, "/readyz", ""); err == nil && r.status == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the service is not ready in time")
		case <-ticker.C:
		}
	}
}

// sendAll sends each query twice, so that the response from the cache is compared, too.
func (c client) sendAll(ctx context.Context) error {
	r, err := c.send(ctx, http.MethodGet, "/api/v1/fleet", "")
	if err != nil {
		return err
	}
	var fleet struct {
		Clusters []struct {
			Name, Model string
			Releases    map[string]string
		}
	}
	if err := json.Unmarshal(r.body, &fleet); err != nil {
		return err
	}
	owners, releases := []string{""}, map[string][]string{}
	for _, cluster := range fleet.Clusters {
		if cluster.Model == "agent" || cluster.Model == "" {
			owners = append(owners, cluster.Name)
		}
		for group, release := range cluster.Releases {
			if !slices.Contains(releases[group], release) {
				releases[group] = append(releases[group], release)
			}
		}
	}
	for _, owner := range owners {
		for _, view := range []string{"members", "agents", "grants"} {
			if _, err := c.query(ctx, map[string]any{"view": view, "owner": owner}); err != nil {
				return err
			}
		}
		for group, names := range releases {
			if err := c.queryGroup(ctx, owner, group, names); err != nil {
				return err
			}
		}
	}
	return nil
}

// queryGroup sends the queries about one group, for each release and each component of it.
func (c client) queryGroup(ctx context.Context, owner, group string, releases []string) error {
	with := func(view string, more map[string]any) map[string]any {
		out := map[string]any{"view": view, "owner": owner, "group": group}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	if _, err := c.query(ctx, with("releases", nil)); err != nil {
		return err
	}
	r, err := c.query(ctx, with("components", nil))
	if err != nil {
		return err
	}
	var sets struct {
		Output struct{ Parameters []struct{ Component string } }
	}
	if r.status == http.StatusOK {
		if err := json.Unmarshal(r.body, &sets); err != nil {
			return err
		}
	}
	var components []string
	for _, s := range sets.Output.Parameters {
		if !slices.Contains(components, s.Component) {
			components = append(components, s.Component)
		}
	}
	base := map[string]any{"enabled": true, "chart": map[string]any{"repoURL": "https://charts.example.com", "name": "x", "version": "1.2.3"}, "values": map[string]any{"from": "base"}}
	for _, component := range components {
		queries := []map[string]any{
			{"component": component},
			{"component": component, "base": base},
			{"component": component, "selector": map[string]any{"matchLabels": map[string]any{"environment": "prod"}}},
		}
		for _, release := range releases {
			queries = append(queries, map[string]any{"component": component, "release": release})
		}
		for _, q := range queries {
			if _, err := c.query(ctx, with("components", q)); err != nil {
				return err
			}
		}
	}
	return nil
}

// query sends one query as Argo CD does, twice, and keeps the response.
func (c client) query(ctx context.Context, parameters map[string]any) (response, error) {
	body, err := json.Marshal(map[string]any{"applicationSetName": "compare", "input": map[string]any{"parameters": parameters}})
	if err != nil {
		return response{}, err
	}
	var last response
	for i := range 2 {
		r, err := c.send(ctx, http.MethodPost, "/api/v1/getparams.execute", string(body))
		if err != nil {
			return r, err
		}
		if i > 0 && (r.status != last.status || !bytes.Equal(r.body, last.body)) {
			return r, fmt.Errorf("the second response to %s differs from the first", body)
		}
		last = r
	}
	c.out[string(body)] = last
	return last, nil
}

func (c client) send(ctx context.Context, method, path, body string) (response, error) {
	q, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	q.Header.Set("Authorization", "Bearer "+token)
	q.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return response{}, err
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	return response{r.StatusCode, data}, err
}

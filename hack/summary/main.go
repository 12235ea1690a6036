// Command summary waits until a server is ready, and prints what it loaded and how to ask it (make
// run).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// deadline is for reading a fleet of any size from a disk.
const deadline = time.Minute

func main() {
	address := flag.String("address", "127.0.0.1:4355", "address of the server")
	web := flag.String("web", "", "address of the pages; without it, there are none")
	tokenFile := flag.String("token-file", "", "file with the bearer token")
	pid := flag.Int("server-pid", 0, "process of the server: when it ends, there is nothing to wait for")
	flag.Parse()
	c := client{base: "http://" + *address, tokenFile: *tokenFile, pid: *pid, web: *web}
	if err := c.run(context.Background(), os.Stdout); err != nil && c.serverLives() {
		fmt.Fprintln(os.Stderr, "summary:", err)
		os.Exit(1)
	}
}

type client struct {
	base, tokenFile string
	pid             int
	web             string
}

// fleet is what is used of GET /api/v1/fleet.
type fleet struct {
	Revision string
	Clusters []cluster
}

type cluster struct {
	Hub, Name, Tenant, Environment, Model, Engine string
	IsHub                                         bool
	Releases                                      map[string]string
	Problems                                      []map[string]any
}

// question is the request whose curl is printed.
const question = `{"applicationSetName":"try","input":{"parameters":{"view":"members"}}}`

func (c client) run(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	token, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return err
	}
	hub, err := c.ready(ctx, string(token))
	if err != nil {
		return err
	}
	var f fleet
	if err := c.call(ctx, http.MethodGet, "/api/v1/fleet", string(token), "", &f); err != nil {
		return err
	}
	var answer struct {
		Output struct{ Parameters []json.RawMessage }
	}
	if err := c.call(ctx, http.MethodPost, "/api/v1/getparams.execute", string(token), question, &answer); err != nil {
		return err
	}
	if !c.serverLives() {
		return errors.New("another server answers at this address")
	}
	if c.web != "" {
		fmt.Fprintf(w, "\nOpen http://%s and sign in with the text of %s\n", c.web, short(c.tokenFile))
	}
	_, err = fmt.Fprintf(w, "\nArgosy serves %s on %s\n\n%s\nAsk for the members of %s (%d parameter sets):\n\n%s\n\n",
		hub, c.base, f.text(), hub, len(answer.Output.Parameters), c.curl())
	return err
}

// ready waits for the server and returns the hub that it serves.
func (c client) ready(ctx context.Context, token string) (string, error) {
	var state struct {
		Ready        bool
		Message, Hub string
	}
	for {
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%s is not ready after %s: %s", c.base, deadline, state.Message)
		case <-time.After(100 * time.Millisecond):
		}
		if !c.serverLives() {
			return "", errors.New("the server has ended")
		}
		if err := c.call(ctx, http.MethodGet, "/readyz", token, "", &state); err == nil && state.Ready {
			return state.Hub, nil
		}
	}
}

// serverLives reports whether the server's process is there; without a pid it is taken to be.
func (c client) serverLives() bool { return c.pid == 0 || syscall.Kill(c.pid, 0) == nil }

// call reads an answer into out; an error of the server is an error with its message.
func (c client) call(ctx context.Context, method, path, token, body string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK && path != "/readyz" {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, strings.TrimSpace(string(text)))
	}
	return json.Unmarshal(text, out)
}

// text is the fleet in a few lines.
func (f fleet) text() string {
	members, releases := map[string]count{}, map[string]count{}
	tenants, environments := count{}, count{}
	problems, affected := map[string]bool{}, 0
	for _, c := range f.Clusters {
		kind := c.Model
		switch {
		case c.IsHub:
			kind = "hub"
		case c.Engine != "":
			kind += " (" + c.Engine + ")"
		}
		add(members, c.Hub, kind)
		for group, release := range c.Releases {
			add(releases, group, release)
		}
		tenants[c.Tenant]++
		environments[c.Environment]++
		for _, p := range c.Problems {
			problems[withoutCluster(p)] = true
		}
		if len(c.Problems) > 0 {
			affected++
		}
	}
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-13s %s\n", name, text) }
	row("revision", f.Revision)
	for _, hub := range sorted(members) {
		row("members", fmt.Sprintf("%s: %s", hub, members[hub]))
	}
	row("tenants", tenants.String())
	row("environments", environments.String())
	for _, group := range sorted(releases) {
		row("releases", fmt.Sprintf("%s: %s", group, releases[group]))
	}
	found := fmt.Sprint(len(problems))
	if affected > 0 {
		found += fmt.Sprintf(" (clusters affected: %d)", affected)
	}
	row("problems", found)
	return b.String()
}

// withoutCluster is a problem without its hub and cluster, as JSON. It is equal for a problem of a
// file that several clusters read.
func withoutCluster(problem map[string]any) string {
	delete(problem, "hub")
	delete(problem, "cluster")
	text, _ := json.Marshal(problem) // it has been JSON
	return string(text)
}

// curl is the question as a command.
func (c client) curl() string {
	return fmt.Sprintf(`  curl -s %s/api/v1/getparams.execute \
    -H "Authorization: Bearer $(cat %s)" -H "Content-Type: application/json" \
    -d '%s'`, c.base, short(c.tokenFile), question)
}

// short is a path as one writes it in a shell.
func short(file string) string {
	home, err := os.UserHomeDir()
	if rest, below := strings.CutPrefix(file, home+"/"); err == nil && home != "" && below {
		return "~/" + rest
	}
	return file
}

// count is how often each name occurs.
type count map[string]int

func (c count) String() string {
	parts := make([]string, 0, len(c))
	for _, name := range sorted(c) {
		parts = append(parts, fmt.Sprintf("%d %s", c[name], name))
	}
	return strings.Join(parts, ", ")
}

func add(counts map[string]count, name, what string) {
	if counts[name] == nil {
		counts[name] = count{}
	}
	counts[name][what]++
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

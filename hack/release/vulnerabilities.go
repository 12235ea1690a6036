package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/hack/release/vuln"
)

// vulncheck fails for each vulnerability that is in a program and not argued. It looks at programs,
// not at sources: the linker leaves out what nothing reaches, and it takes seconds instead of
// gigabytes. The programs keep their symbol tables, without which all functions of a package count.
func vulncheck(ctx context.Context, o options) error {
	if len(o.arguments) != 3 {
		return fmt.Errorf("vulncheck: %d arguments; expected GOVULNCHECK DATABASE STATEMENTS", len(o.arguments))
	}
	govulncheck, database, statements := o.arguments[0], o.arguments[1], o.arguments[2]
	argued, err := vuln.Argued(statements)
	if err != nil {
		return err
	}
	if err := reachable(ctx, database); err != nil {
		fmt.Printf("vulncheck: skipped: the database cannot be reached: %v\n", err)
		return nil
	}
	found := map[string]vuln.Finding{}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		file, err := buildWithSymbols(ctx, o, name)
		if err != nil {
			return err
		}
		check := exec.CommandContext(ctx, govulncheck, "-db", database, "-format", "json", "-mode", "binary", file) //nolint:gosec // of the Makefile
		check.Stderr = os.Stderr
		out, err := check.Output()
		if err != nil {
			return fmt.Errorf("govulncheck %s: %w", name, err)
		}
		findings, err := vuln.Read(bytes.NewReader(out))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, f := range findings {
			found[f.ID] = f
		}
		fmt.Printf("%s: %d vulnerabilities\n", name, len(findings))
	}
	var all []error
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if !argued[id] {
			all = append(all, fmt.Errorf("%v: upgrade it, or argue it in %s", found[id], statements))
		}
		delete(argued, id)
	}
	for _, id := range slices.Sorted(maps.Keys(argued)) {
		fmt.Printf("%s is argued in %s and not found\n", id, statements)
	}
	return errors.Join(all...)
}

// buildWithSymbols is the file of a program with its symbol table.
func buildWithSymbols(ctx context.Context, o options, name string) (string, error) {
	file := filepath.Join(o.dist, "symbols", name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", file, "./cmd/"+name) //nolint:gosec // of the checkout
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return file, nil
}

// reachable asks a vulnerability database for the time of its last change.
func reachable(ctx context.Context, database string) error {
	u, err := url.Parse(database)
	if err != nil {
		return err
	}
	if u.Scheme == "file" {
		_, err := os.Stat(filepath.Join(u.Path, "index", "db.json"))
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("index", "db.json").String(), http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

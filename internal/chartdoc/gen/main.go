// Command gen writes the README.md of every chart, or with -check says which are out of date.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/argosy-hub/argosy/internal/chartdoc"
)

func main() {
	dir := flag.String("charts", "charts", "folder of the charts")
	check := flag.Bool("check", false, "write nothing; fail if a README.md is out of date")
	flag.Parse()
	stale, err := run(*dir, *check)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chartdoc:", err)
		os.Exit(2)
	}
	for _, path := range stale {
		fmt.Println(path)
	}
	if *check && len(stale) > 0 {
		os.Exit(1)
	}
}

// run returns the files that were out of date.
func run(dir string, check bool) ([]string, error) {
	charts, err := chartdoc.Charts(dir)
	if err != nil {
		return nil, err
	}
	var stale []string
	for _, chart := range charts {
		text, err := chartdoc.Render(chart)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(chart, chartdoc.ReadmeFile)
		if current, err := os.ReadFile(path); err == nil && bytes.Equal(current, text) {
			continue
		}
		stale = append(stale, path)
		if !check {
			if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // a file of the repository, for everyone to read
				return nil, err
			}
		}
	}
	return stale, nil
}

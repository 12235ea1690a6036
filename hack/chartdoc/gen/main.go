// Command gen writes the README.md and the values.schema.json of every chart. With -check it lists
// those that are out of date.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/argosy-hub/argosy/hack/chartdoc"
)

func main() {
	dir := flag.String("charts", "charts", "folder of the charts")
	check := flag.Bool("check", false, "write nothing; fail if a file is out of date")
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
		for _, file := range []struct {
			name string
			make func(dir string) ([]byte, error)
		}{{chartdoc.ReadmeFile, chartdoc.Render}, {chartdoc.SchemaFile, chartdoc.Schema}} {
			text, err := file.make(chart)
			if err != nil {
				return nil, err
			}
			path := filepath.Join(chart, file.name)
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
	}
	return stale, nil
}

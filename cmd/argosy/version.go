package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/report"
)

// version is set by the build: -ldflags "-X main.version=v1.2.3".
var version string

// programVersion returns the release's version, or "devel".
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the program's version",
		Example: "  argosy version -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := report.Version{
				APIVersion: report.APIVersion, Kind: report.KindVersion, Version: programVersion(),
				Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v.Revision = s.Value
					}
				}
			}
			w := cmd.OutOrStdout()
			if output != "text" {
				return writeData(w, output, v)
			}
			revision := ""
			if v.Revision != "" {
				revision = " (" + v.Revision + ")"
			}
			_, err := fmt.Fprintf(w, "argosy %s%s %s %s\n", v.Version, revision, v.Go, v.Platform)
			return err
		},
	}
	outputFlag(cmd, &output, "text", "json", "yaml")
	return cmd
}

package fleetrepo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
)

// components is a catalog, at the base or at a level of the hierarchy.
type components struct {
	Components map[string]struct {
		Chart struct {
			Name    string `yaml:"name"`
			Path    string `yaml:"path"`
			Version string `yaml:"version"`
		} `yaml:"chart"`
		AdditionalSources []struct {
			Chart          string `yaml:"chart"`
			TargetRevision string `yaml:"targetRevision"`
		} `yaml:"additionalSources"`
	} `yaml:"components"`
}

// Charts are the charts of a checkout's fleet: for each component of a group every name and every
// version that its catalog and the overrides of all levels give it. Charts in Git are left out.
func Charts(ctx context.Context, source string) ([]chartserver.Chart, error) {
	files, err := read(ctx, source, Folders...)
	if err != nil {
		return nil, fmt.Errorf("charts of the fleet: %w", err)
	}
	f, err := newFleet(files)
	if err != nil {
		return nil, fmt.Errorf("charts of the fleet: %w", err)
	}
	found := map[chartserver.Chart]bool{}
	for name, g := range f.layout.Groups {
		if g == nil {
			continue
		}
		if err := f.charts(name, *g, found); err != nil {
			return nil, fmt.Errorf("charts of the group %s: %w", name, err)
		}
	}
	return slices.SortedFunc(maps.Keys(found), chartserver.Chart.Compare), nil
}

// charts adds the charts of one group.
func (f fleet) charts(name string, g group, found map[chartserver.Chart]bool) error {
	override, err := render(f.layout.Files.Catalog, map[string]any{"group": name})
	if err != nil {
		return err
	}
	names, versions := map[string]map[string]bool{}, map[string]map[string]bool{}
	add := func(to map[string]map[string]bool, component, value string) {
		if to[component] == nil {
			to[component] = map[string]bool{}
		}
		if value != "" {
			to[component][value] = true
		}
	}
	for file := range f.files {
		if file != g.Catalog && (!strings.HasPrefix(file, g.Root+"/") || !strings.HasSuffix(file, "/"+override)) {
			continue
		}
		var c components
		if err := unmarshal(f.files, file, &c); err != nil {
			return err
		}
		for component, is := range c.Components {
			if is.Chart.Path == "" {
				add(names, component, is.Chart.Name)
				add(versions, component, is.Chart.Version)
			}
			for _, more := range is.AdditionalSources {
				if more.Chart != "" {
					found[chartserver.Chart{Name: more.Chart, Version: more.TargetRevision}] = true
				}
			}
		}
	}
	for component := range names {
		for chart := range names[component] {
			for version := range versions[component] {
				found[chartserver.Chart{Name: chart, Version: version}] = true
			}
		}
	}
	return nil
}

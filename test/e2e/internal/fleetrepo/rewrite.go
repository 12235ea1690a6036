package fleetrepo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// rewrite makes all addresses those of the demonstration (2, 3), and finds those that would lead
// out of it (4).
func rewrite(files map[string][]byte, upstream, remote, chartRepo string) (map[string][]byte, error) {
	// An address ends before what cannot be part of a name: argosy-hub/argosy-enterprise is another
	// repository.
	self := regexp.MustCompile(`(?m)` + regexp.QuoteMeta(upstream) + `(?:\.git)?([^A-Za-z0-9_-]|$)`)
	replacement := []byte(strings.ReplaceAll(remote, "$", "$$") + "${1}")
	out := map[string][]byte{}
	found := map[string][]place{}
	charts := map[string]bool{} // repositories of charts that the fleet names
	for file, data := range files {
		data = self.ReplaceAll(data, replacement)
		if file == workloads || strings.HasPrefix(file, "fleet/teams/") {
			data = besides(data, remote)
		}
		out[file] = data
		if !machineRead(file) {
			continue
		}
		found[file] = places(data)
		for _, p := range found[file] {
			if p.chart && p.value != "" && p.value != remote && !isTemplate(p.value) {
				charts[p.value] = true
			}
		}
	}
	var errs []error
	for _, file := range slices.Sorted(maps.Keys(found)) {
		text, err := redirect(string(out[file]), found[file], charts, chartRepo)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%w", file, err))
			continue
		}
		out[file] = []byte(text)
		errs = append(errs, strays(file, text, remote, chartRepo)...)
	}
	return out, errors.Join(errs...)
}

// machineRead tells the files that Argo CD, Helm or the service read from those for people.
func machineRead(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".gotmpl", ".tpl"}, path.Ext(file))
}

// redirect puts the chart repository into the places of charts.
func redirect(text string, places []place, charts map[string]bool, chartRepo string) (string, error) {
	lines := strings.Split(text, "\n")
	// From the last to the first: a change moves what is behind it in its line.
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(b.line-a.line, b.column-a.column) })
	for _, p := range places {
		if !charts[p.value] || !p.chart && p.key != "sourceRepos" {
			continue
		}
		line := []rune(lines[p.line-1])
		before, after := string(line[:p.column-1]), string(line[p.column-1:])
		written := after
		if strings.HasPrefix(after, `"`) || strings.HasPrefix(after, `'`) {
			before, written = before+after[:1], after[1:]
		}
		rest, ok := strings.CutPrefix(written, p.value)
		if !ok {
			return "", fmt.Errorf("%d: %s %q is written in a way that cannot be changed: expected it in one line, without anchors and escapes", p.line, p.key, p.value)
		}
		lines[p.line-1] = before + chartRepo + rest
		// A list of the repositories that are allowed needs the one they all become only once.
		if p.key == "sourceRepos" && p.line < len(lines) && lines[p.line] == lines[p.line-1] {
			lines = slices.Delete(lines, p.line, p.line+1)
		}
	}
	return strings.Join(lines, "\n"), nil
}

func isTemplate(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "{{") }

// address is a value with a scheme, or with a host as registries have it; a name with dots but no
// slash, as of a label or a file, is none.
var address = regexp.MustCompile(`^(?:[a-z][a-z0-9+.-]*://|[^/@\s]+@[^/\s]+:|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?(?:/|$))`)

// keyed is a key that names a repository, with its value, in whatever the line is part of.
var keyed = regexp.MustCompile(`\b(repoURL|chartRepo|chartRepoUrl|[a-z]+_repo_url)["']?\s*:\s*["']?([^\s"',{}\[\]#]+)`)

// strays are the addresses that lead out of the demonstration (4).
func strays(file, text, remote, chartRepo string) []error {
	var errs []error
	stray := func(line int, key, value string) {
		if value != remote && value != chartRepo && !strings.HasPrefix(value, serverOf(remote)) && address.MatchString(value) {
			errs = append(errs, fmt.Errorf("%s:%d: %s %q leads out of the demonstration: expected this repository (%s) or, of charts, a repoURL without path\n"+
				"  hint: teach package fleetrepo what to put there", file, line, key, value, remote))
		}
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, match := range keyed.FindAllStringSubmatch(line, -1) {
			stray(number, match[1], match[2])
		}
	}
	for _, p := range places([]byte(text)) {
		if p.key == "sourceRepos" {
			stray(p.line, p.key, p.value)
		}
	}
	return errs
}

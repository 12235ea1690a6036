package source

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Names in the JSON of a source: folders and files, value files, and charts or folders.
var (
	pathValue   = regexp.MustCompile(`"path":"((?:[^"\\]|\\.)*)"`)
	valueFiles  = regexp.MustCompile(`"valueFiles":\[([^\]]*)\]`)
	jsonString  = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	sourceValue = regexp.MustCompile(`"(chart|path)":"[^"]`)
)

// Names in a template's patch, which is YAML with actions.
var (
	patchedPath   = regexp.MustCompile(`\bpath["']?\s*:\s*["']?(\{\{.*\}\}|[^\s"',}]*)`)
	patchedOthers = regexp.MustCompile(`\b(?:valueFiles|chart)["']?\s*:`)
)

// responsesPath matches a template's action that is just a path of the response. The response
// itself is examined.
var responsesPath = regexp.MustCompile(`^\{\{-?\s*(?:\(index \.\w+ "[^"]*"\))?\.?(?:[\w-]+\.)*path\s*-?\}\}$`)

// generatorsOwn matches what a generator adds to a response's sets: its values and its input.
var generatorsOwn = regexp.MustCompile(`\b(?:values|generator)\.`)

// IsNamed reports whether a text in JSON names a chart or a folder.
func IsNamed(text []byte) bool { return sourceValue.Match(text) }

// Named returns the repository's folders and files that a text in JSON names: as paths of sources,
// and as value files outside their chart. Files below the chart change with it. unknown means that
// there are others, which are computed or patterns.
func Named(text []byte) (paths []string, unknown bool) {
	for _, m := range pathValue.FindAllSubmatch(text, -1) {
		paths, unknown = addPath(paths, unknown, unescaped(m[1]))
	}
	for _, list := range valueFiles.FindAllSubmatch(text, -1) {
		for _, m := range jsonString.FindAllSubmatch(list[1], -1) {
			switch p := unescaped(m[1]); {
			case strings.ContainsAny(p, "{*?[") || strings.Contains(p, "../"):
				unknown = true
			case strings.HasPrefix(p, "/") || strings.HasPrefix(p, "$"):
				paths, unknown = addPath(paths, unknown, p)
			}
		}
	}
	return paths, unknown
}

// NamedByPatch is Named for an ApplicationSet's templatePatch. Names other than paths are unknown.
func NamedByPatch(patch string) (paths []string, unknown bool) {
	unknown = patchedOthers.MatchString(patch)
	for _, m := range patchedPath.FindAllStringSubmatch(patch, -1) {
		paths, unknown = addPath(paths, unknown, m[1])
	}
	return paths, unknown
}

func addPath(paths []string, unknown bool, p string) ([]string, bool) {
	switch {
	case p == "" || responsesPath.MatchString(p) && !generatorsOwn.MatchString(p):
		return paths, unknown
	case strings.Contains(p, "{{"):
		return paths, true
	}
	return append(paths, fromRoot(p)), unknown
}

// fromRoot returns a path without the name of a repository's root: a leading / or $name.
func fromRoot(p string) string {
	if strings.HasPrefix(p, "$") {
		_, p, _ = strings.Cut(p, "/")
	}
	return path.Clean(strings.TrimPrefix(p, "/"))
}

// unescaped returns the text of a JSON string without its quotes.
func unescaped(text []byte) (out string) {
	if err := json.Unmarshal(slices.Concat([]byte(`"`), text, []byte(`"`)), &out); err != nil {
		return string(text)
	}
	return out
}

package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// helm returns the options of a chart's source, with one tree of values.
func (r *Reader) helm(a *Application, s source.Source, all []source.Source) (out manifest.Tree, from Values, err error) {
	out = maps.Clone(s.Helm)
	if out == nil {
		out = manifest.Tree{}
	}
	for _, key := range []string{"values", "valuesObject", "parameters", "valueFiles", "ignoreMissingValueFiles"} {
		delete(out, key)
	}
	if manifest.Text(out, "releaseName") == "" {
		out["releaseName"] = a.Name
	}
	var layers []hierarchy.Layer
	var unread []any
	optional, _ := s.Helm["ignoreMissingValueFiles"].(bool)
	environment := environmentOf(a, s)
	for i, name := range manifest.Strings(s.Helm["valueFiles"]) {
		name = expandedFile(environment, name, all)
		listed, remote, err := r.valueFile(s, all, name)
		file := listed.File
		switch {
		case err != nil:
			return nil, from, err
		case remote && len(layers) > 0:
			return nil, from, &Unreadable{
				Text: fmt.Sprintf("value file %s is in the remote chart, and comes after a file of a repository", name),
				Hint: "the values of Argosy come after all files of the chart; name the chart's own files first",
			}
		case remote:
			unread = append(unread, name)
		case file == nil && strings.ContainsAny(name, "*?["):
			return nil, from, &Unreadable{Text: fmt.Sprintf("value file %s is a pattern, which later versions of Argo CD expand", name), Hint: "list the files in their order"}
		case file == nil && !optional:
			return nil, from, &Unreadable{Text: fmt.Sprintf("value file %s is not there: Argo CD fails, too", name)}
		case file == nil:
			from.Files = append(from.Files, listed)
		case i == 0 && r.isDefaults(s, listed):
		default:
			from.Files = append(from.Files, listed)
			layer, err := r.layer(file)
			if err != nil {
				return nil, from, err
			}
			layers = append(layers, layer)
			a.Lines[file.Path] = linesOf(string(file.Data))
		}
	}
	if len(unread) > 0 {
		out["valueFiles"] = unread
		if optional {
			out["ignoreMissingValueFiles"] = true
		}
	}
	files := len(layers)
	if object, ok := s.Helm["valuesObject"].(manifest.Tree); ok { // in Argo CD, it overrides values as a whole, even when it is empty
		root := yamldoc.FromAny(nil, exact(object))
		text, _ := root.YAML()
		layers = append(layers, hierarchy.Layer{Level: "valuesObject", Root: root})
		a.Lines[string(text)] = linesOf(string(text))
	} else if text := manifest.Text(s.Helm, "values"); text != "" {
		layer, err := layerOf("values of the Application", []byte(text))
		if err != nil {
			return nil, from, err
		}
		layers = append(layers, layer)
		a.Lines[text] = linesOf(text)
	}
	if len(layers) > files {
		from.Over, _ = layers[files].Root.Any().(map[string]any)
	}
	values := map[string]any{}
	if merged := hierarchy.Merge(layers, nil); merged != nil && merged.Root.IsMap() {
		values, _ = merged.Root.Any().(map[string]any)
	}
	given, integers := parameters(s.Helm, environment)
	if err := environment.err(); err != nil {
		return nil, from, err
	}
	if len(unread) > 0 {
		if err := r.dependsOnUnread(layers, given, unread[0]); err != nil {
			return nil, from, err
		}
	}
	if len(integers) > 0 {
		out["parameters"] = integers
	}
	if err := r.SetParameters(values, given); err != nil {
		return nil, from, &Unreadable{Text: err.Error()}
	}
	if len(given) > 0 { // equal without the files, except for items of lists
		over, _ := exact(from.Over).(map[string]any)
		if over == nil {
			over = map[string]any{}
		}
		if err := r.SetParameters(over, given); err == nil {
			from.Over, _ = exact(over).(map[string]any)
		}
	}
	for _, p := range given {
		a.Lines[p.Name+"="+p.Value] = 1
	}
	switch {
	case len(values) == 0:
	case len(given) > 0: // Helm's own types
		out["values"] = exact(values)
	default:
		out["values"] = values
	}
	return out, from, nil
}

// dependsOnUnread returns an error if the result depends on a value file of the remote chart.
// Merging values onto it one by one may differ from merging them first: by an item of a list of
// that file, or a map over a cleared value.
func (r *Reader) dependsOnUnread(layers []hierarchy.Layer, given []source.Parameter, file any) error {
	if i := slices.IndexFunc(given, func(p source.Parameter) bool { return strings.Contains(p.Name, "[") }); i >= 0 {
		return &Unreadable{
			Text: fmt.Sprintf("parameter %s sets an item of a list, which %v of the remote chart may have", given[i].Name, file), Hint: "write the whole list into a value file",
		}
	}
	set := map[string]any{}
	if err := r.SetParameters(set, given); err != nil {
		return &Unreadable{Text: err.Error()}
	}
	layers = append(slices.Clone(layers), hierarchy.Layer{Root: yamldoc.FromAny(nil, exact(set))})
	for i, above := range layers {
		for _, below := range layers[:i] {
			if at := mapOverOther(below.Root, above.Root, nil); at != nil {
				return &Unreadable{
					Text: fmt.Sprintf("%s is first not a map, and then a map: what %v of the remote chart has there would come back", hierarchy.FormatPath(at), file),
					Hint: "set to null each key of that file that is not wanted",
				}
			}
		}
	}
	return nil
}

// mapOverOther returns the path of a map that is above something else than a map, nil if there is
// none.
func mapOverOther(below, above *yamldoc.Node, at []string) []string {
	if !below.IsMap() || !above.IsMap() {
		return nil
	}
	for _, f := range above.Fields() {
		under := below.Get(f.Key)
		if under == nil || !f.Value.IsMap() {
			continue
		}
		path := append(slices.Clip(at), f.Key)
		if !under.IsMap() {
			return path
		}
		if found := mapOverOther(under, f.Value, path); found != nil {
			return found
		}
	}
	return nil
}

// isDefaults reports whether a value file is the chart's own, at the chart's revision: Helm has its
// values anyway. But a parameter that sets an item of a list needs the list in a value file. And
// null removes a key only in a value file.
func (r *Reader) isDefaults(s source.Source, f ValueFile) bool {
	if s.Chart != "" || f.Path != path.Join(s.Path, "values.yaml") {
		return false
	}
	for _, key := range []string{"parameters", "fileParameters"} {
		list, _ := s.Helm[key].([]any)
		if slices.ContainsFunc(list, func(p any) bool { return strings.Contains(manifest.Text(p, "name"), "[") }) {
			return false
		}
	}
	if f.File == nil {
		return false
	}
	if layer, err := r.layer(f.File); err != nil || hasNull(layer.Root) {
		return false
	}
	own, err := r.Open(s.RepoURL, s.Revision)
	return err == nil && own == f.Snapshot
}

// hasNull reports whether any map of a value has null.
func hasNull(n *yamldoc.Node) bool {
	return n.IsMap() && slices.ContainsFunc(n.Fields(), func(f yamldoc.Field) bool { return f.Value.IsNull() || hasNull(f.Value) })
}

// layer returns the layer of a value file, which many Applications share.
func (r *Reader) layer(file *snapshot.File) (hierarchy.Layer, error) {
	layer, ok := r.layers[file]
	if ok {
		return layer, nil
	}
	layer, err := layerOf(file.Path, file.Data)
	if err == nil {
		if r.layers == nil {
			r.layers = map[*snapshot.File]hierarchy.Layer{}
		}
		r.layers[file] = layer
	}
	return layer, err
}

// layerOf reads values; a file without any is an empty layer.
func layerOf(name string, data []byte) (hierarchy.Layer, error) {
	doc, err := yamldoc.ParseLenient(name, data, nil)
	if err != nil {
		return hierarchy.Layer{}, &Unreadable{Text: err.Error()}
	}
	if !doc.Root.IsNull() && !doc.Root.IsMap() {
		return hierarchy.Layer{}, &Unreadable{Text: fmt.Sprintf("%s: values are a %s, and Helm takes only a map: Argo CD fails, too", name, doc.Root.Kind)}
	}
	return hierarchy.Layer{Level: name, Path: name, Root: doc.Root}, nil
}

// expandedFile returns the name of a value file as Argo CD expands it, after the source that it
// names.
func expandedFile(e *buildEnvironment, name string, all []source.Source) string {
	first, rest, _ := strings.Cut(name, "/")
	isReference := slices.ContainsFunc(all, func(s source.Source) bool { return s.Ref != "" && "$"+s.Ref == first })
	switch {
	case isReference:
		return first + "/" + e.expand(rest)
	case strings.HasPrefix(first, "$") && !strings.Contains(first, "ARGOCD_"):
		return name // a source that does not exist
	}
	return e.expand(name)
}

// parameters returns the parameters of a source, as Argo CD expands them, without the large
// integers. It returns these as written, each by its last value: in values they would be numbers
// with an exponent.
func parameters(helm manifest.Tree, e *buildEnvironment) (out []source.Parameter, integers []any) {
	list, _ := helm["parameters"].([]any)
	last := map[string]int{}
	for i, p := range list {
		last[manifest.Text(p, "name")] = i
	}
	for i, p := range list {
		forced, _ := manifest.At(p, "forceString").(bool)
		x := source.Parameter{Name: manifest.Text(p, "name"), Value: e.expand(manifest.Text(p, "value")), ForceString: forced}
		switch {
		case !isLargeInteger(x):
			out = append(out, x)
		case last[x.Name] == i:
			integers = append(integers, manifest.Tree{"name": x.Name, "value": x.Value})
		}
	}
	return out, integers
}

// isLargeInteger reports whether a template prints a parameter differently than the same value of a
// file. A parameter is an integer (helm.sh/helm/v3/pkg/strvals). A file's number is a float64,
// which text/template prints as fmt.Print does, with an exponent from a million on.
func isLargeInteger(p source.Parameter) bool {
	n, err := strconv.ParseInt(p.Value, 10, 64)
	return err == nil && !p.ForceString && !strings.HasPrefix(p.Value, "0") && fmt.Sprint(float64(n)) != fmt.Sprint(n)
}

// exact converts a value to the types of encoding/json, with its numbers as they are written.
func exact(v any) any {
	dec := json.NewDecoder(bytes.NewReader(manifest.Canonical(v)))
	dec.UseNumber()
	var out any
	if dec.Decode(&out) != nil {
		return v
	}
	return out
}

// valueFile finds a value file; remote reports that it is in a remote chart or at a URL.
func (r *Reader) valueFile(s source.Source, all []source.Source, name string) (out ValueFile, remote bool, err error) {
	of, p := s, path.Join(s.Path, name)
	switch {
	case strings.Contains(name, "://"):
		return out, true, nil
	case strings.HasPrefix(name, "$"):
		ref, rest, _ := strings.Cut(name[1:], "/")
		i := slices.IndexFunc(all, func(s source.Source) bool { return s.Ref != "" && s.Ref == ref })
		if i < 0 {
			return out, false, &Unreadable{Text: fmt.Sprintf("value file %s: no source has ref %s", name, ref)}
		}
		of, p = all[i], strings.TrimLeft(rest, "/")
	case s.Chart != "":
		return out, true, nil
	case strings.HasPrefix(name, "/"):
		p = strings.TrimLeft(name, "/")
	}
	clean, err := snapshot.CleanPath(path.Clean(p))
	if err != nil {
		return out, false, &Unreadable{Text: fmt.Sprintf("value file %s: %v", name, err)}
	}
	snap, err := r.Open(of.RepoURL, of.Revision)
	if err != nil {
		return out, false, err
	}
	out = ValueFile{Repository: of.RepoURL, Path: clean, File: snap.File(clean), Snapshot: snap}
	if r.IsGuess(of.RepoURL) {
		if r.guessed == nil {
			r.guessed = map[string]bool{}
		}
		r.guessed[clean] = r.guessed[clean] || out.File != nil
	}
	if out.File != nil && out.File.Err != nil {
		return out, false, &Unreadable{Text: out.File.Err.Error()}
	}
	return out, false, nil
}

// linesOf counts the lines of a text.
func linesOf(text string) int { return strings.Count(strings.TrimSuffix(text, "\n")+"\n", "\n") }

package hierarchy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// gen writes random values files, deterministic by its seed. Keys are few, so that files disagree
// with each other.
type gen struct {
	r       *rand.Rand
	anchors []string
}

func newGen(seed uint64) *gen { return &gen{r: rand.New(rand.NewPCG(seed, 7))} }

// genKeys are pairwise different as Helm reads them.
var genKeys = []string{
	"a", "b", "c", "image", "replicas", "1", "0x10", "yes", "off", "1.5", "a.b", `"x/y.z"`, `""`, "' '", "é", "日本", `"quo\"te"`, "k[0]", `"-"`, `"true "`, "1_0", `"<<"`, `"a\nb"`, "nil",
}

var genScalars = []string{
	"null", "~", "", "true", "false", "yes", "No", "on", "OFF", "y", "0", "1", "-1", "42", "0123", "0o17", "0x1F", "0b11", "1_000", "1e3", "1.5E-7", "1.0", ".5", "3.14159265358979",
	"9007199254740993", "9223372036854775807", "18446744073709551615", "123456789012345678901234567890", "-9223372036854775809", "123456789012",
	"text", "two words", `"quoted"`, `'sin''gle'`, `"es\tc\u00e9\n"`, `"yes"`, `"0123"`, `"null"`, `""`, "é", "日本語", "v1.2.3", "1:30", "2001-12-14", "http://x/y?z=1#f", "'{{ .x }}'", "!!str 5", `!!int "7"`, "!!float 3", "=", "1.10",
}

func (g *gen) pick(of []string) string { return of[g.r.IntN(len(of))] }

// file is a whole values file.
func (g *gen) file() string {
	g.anchors = nil
	switch g.r.IntN(25) {
	case 0:
		return []string{"", "{}\n", "# nothing\n", "---\n", "null\n"}[g.r.IntN(5)]
	case 1:
		return "{a: " + g.flow(2, true) + ", b: " + g.flow(3, true) + "}\n"
	}
	var b strings.Builder
	if g.r.IntN(10) == 0 {
		b.WriteString("---\n# comment\n")
	}
	g.block(&b, 0, 4)
	return b.String()
}

// keys are distinct keys.
func (g *gen) keys(n int) []string {
	out := make([]string, 0, n)
	for _, i := range g.r.Perm(len(genKeys))[:n] {
		if i > 8 && g.r.IntN(2) == 0 {
			i %= 5 // common keys more often
			if contains(out, genKeys[i]) {
				continue
			}
		}
		if !contains(out, genKeys[i]) {
			out = append(out, genKeys[i])
		}
	}
	return out
}

func contains(l []string, s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}

func (g *gen) block(b *strings.Builder, indent, depth int) {
	pad := strings.Repeat(" ", indent)
	keys := g.keys(1 + g.r.IntN(5))
	merged := false
	for _, k := range keys {
		if len(g.anchors) > 0 && !merged && g.r.IntN(6) == 0 {
			fmt.Fprintf(b, "%s<<: *%s\n", pad, g.pick(g.anchors))
			merged = true
		}
		b.WriteString(pad + k + ":")
		switch n := g.r.IntN(12); {
		case n < 4 && depth > 0:
			anchor := ""
			if g.r.IntN(4) == 0 {
				anchor = fmt.Sprintf("m%d", len(g.anchors))
				b.WriteString(" &" + anchor)
			}
			b.WriteString("\n")
			g.block(b, indent+2, depth-1)
			if anchor != "" {
				g.anchors = append(g.anchors, anchor)
			}
		case n == 4 && depth > 0:
			b.WriteString("\n")
			for range 1 + g.r.IntN(3) {
				b.WriteString(pad + "- " + g.flow(2, true) + "\n")
			}
		case n == 5:
			b.WriteString(" " + g.flow(2, true) + "\n")
		case n == 6:
			b.WriteString(g.text(pad))
		case n == 7 && len(g.anchors) > 0:
			b.WriteString(" *" + g.pick(g.anchors) + "\n")
		default:
			b.WriteString(" " + g.pick(genScalars) + "\n")
		}
	}
}

// text is a block scalar.
func (g *gen) text(pad string) string {
	head := g.pick([]string{"|", ">", "|-", ">-", "|+"})
	return " " + head + "\n" + pad + "  line {{ x }}\n\n" + pad + "  é: #\n" + pad + "    deeper\n"
}

// flow is a value on one line.
func (g *gen) flow(depth int, container bool) string {
	n := g.r.IntN(6)
	if container {
		n = g.r.IntN(2)
	}
	switch {
	case n == 0 && depth > 0:
		var parts []string
		for _, k := range g.keys(g.r.IntN(4)) {
			parts = append(parts, flowKey(k)+": "+g.flow(depth-1, false))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n == 1 && depth > 0:
		var parts []string
		for range g.r.IntN(4) {
			parts = append(parts, g.flow(depth-1, false))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	for {
		if s := g.pick(genScalars); s != "" && !strings.ContainsAny(s, "{}?") {
			return s
		}
	}
}

func flowKey(k string) string {
	if k == "k[0]" {
		return `"k[0]"`
	}
	return k
}

// layersOf parses files into layers.
func layersOf(t testing.TB, files []string) []Layer {
	t.Helper()
	var layers []Layer
	for i, text := range files {
		name := fmt.Sprintf("level%d/values.yaml", i)
		doc, err := yamldoc.Parse(name, []byte(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		layers = append(layers, Layer{Level: fmt.Sprintf("level%d", i), Path: name, Root: doc.Root})
	}
	return layers
}

// readNumbers is Helm's reading of a file with numbers as they are written in JSON.
func readNumbers(t testing.TB, text []byte) map[string]any {
	t.Helper()
	j, err := sigsyaml.YAMLToJSON(text)
	if err != nil {
		t.Fatalf("Helm refuses: %v in\n%s", err, text)
	}
	dec := json.NewDecoder(bytes.NewReader(j))
	dec.UseNumber()
	var m map[string]any
	require.NoError(t, dec.Decode(&m))
	return m
}

// helmMerge is Helm's merge of value files (helm v3.18.6, pkg/cli/values, mergeMaps), for values
// with exact numbers.
func helmMerge(a, b map[string]any) map[string]any {
	out := make(map[string]any, len(a))
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		if v, ok := v.(map[string]any); ok {
			if below, ok := out[k].(map[string]any); ok {
				out[k] = helmMerge(below, v)
				continue
			}
		}
		out[k] = v
	}
	return out
}

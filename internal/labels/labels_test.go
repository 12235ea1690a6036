package labels

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func at(line int) problem.Pos { return problem.Pos{File: "f.yaml", Line: line} }

func texts(ps []problem.Problem) string {
	var lines []string
	for _, p := range ps {
		lines = append(lines, string(p.Reason)+" "+p.Error())
	}
	return strings.Join(lines, "\n")
}

// TestCompute is rules L1 and L2.
func TestCompute(t *testing.T) {
	reserved := map[string]string{Tenant: "retail", Environment: "prod", FleetMember: "spoke", SecretType: SecretTypeValue}
	for _, c := range []struct {
		name     string
		in       Input
		all      map[string]string // beyond the reserved ones
		declared map[string]string
		problems string
	}{
		{name: "nothing", in: Input{Kind: Label, Reserved: reserved}},
		{
			name: "live alone is not declared",
			in:   Input{Kind: Label, Live: map[string]string{"a": "live"}, Reserved: reserved},
			all:  map[string]string{"a": "live"},
		},
		{
			name: "Git beats live, the later beats the earlier",
			in:   Input{Kind: Label, Live: map[string]string{"a": "live", "b": "live"}, Declared: []Entry{{"a", "low", at(1)}, {"a", "high", at(2)}}, Reserved: reserved},
			all:  map[string]string{"a": "high", "b": "live"}, declared: map[string]string{"a": "high"},
		},
		{
			name: "declared empty is declared",
			in:   Input{Kind: Label, Live: map[string]string{"a": "live"}, Declared: []Entry{{"a", "", at(1)}}, Reserved: reserved},
			all:  map[string]string{"a": ""}, declared: map[string]string{"a": ""},
		},
		{
			name: "the live Secret's reserved ones are overruled",
			in:   Input{Kind: Label, Live: map[string]string{Tenant: "x", Environment: "", SecretType: "repository"}, Reserved: reserved},
		},
		{
			name:     "Git's are a problem",
			in:       Input{Kind: Label, Declared: []Entry{{Environment, "dev", at(3)}, {SecretType, "repository", at(4)}}, Reserved: reserved},
			problems: `reserved-label f.yaml:3: label "environment": "dev"; expected "prod", which the member file gives; it is reserved: remove it here` + "\n" + `reserved-label f.yaml:4: label "argocd.argoproj.io/secret-type": "repository"; expected "cluster", which the member file gives; it is reserved: remove it here`,
		},
		{name: "the same value is none", in: Input{Kind: Label, Declared: []Entry{{Environment, "prod", at(3)}}, Reserved: reserved}},
		{
			name:     "invalid values",
			in:       Input{Kind: Label, Declared: []Entry{{"a", "<no value>", at(1)}, {"b", strings.Repeat("x", 64), at(2)}, {"c", "-x", at(3)}, {"d", strings.Repeat("x", 63), at(4)}}},
			declared: map[string]string{"d": strings.Repeat("x", 63)}, all: map[string]string{"d": strings.Repeat("x", 63)},
			problems: `invalid-label f.yaml:1: label "a": "<no value>"; expected ` + valueForm + "\n" + `invalid-label f.yaml:2: label "b": "` + strings.Repeat("x", 64) + `"; expected ` + valueForm + "\n" + `invalid-label f.yaml:3: label "c": "-x"; expected ` + valueForm,
		},
		{
			name: "invalid live values are left out",
			in:   Input{Kind: Label, Live: map[string]string{"a": "<no value>", "bad key!": "x", "ok": "1"}, Reserved: reserved},
			all:  map[string]string{"ok": "1"},
		},
		{
			name: "annotations hold any text",
			in:   Input{Kind: Annotation, Live: map[string]string{"a": "any text: {}"}, Declared: []Entry{{"b/c", "arn:aws:iam::1:role/x y", at(1)}}},
			all:  map[string]string{"a": "any text: {}", "b/c": "arn:aws:iam::1:role/x y"}, declared: map[string]string{"b/c": "arn:aws:iam::1:role/x y"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			live, declared := maps.Clone(c.in.Live), append([]Entry(nil), c.in.Declared...)
			s, problems := Compute(c.in)
			all, want := maps.Clone(c.in.Reserved), maps.Clone(c.in.Reserved)
			if all == nil {
				all, want = map[string]string{}, map[string]string{}
			}
			maps.Copy(all, c.all)
			maps.Copy(want, c.declared)
			assert.Equal(t, []any{all, want, c.problems}, []any{s.All, s.Declared, texts(problems)})
			for k := range c.declared {
				if s.Origins[k].IsZero() {
					t.Errorf("no origin of %q", k)
				}
			}
			if !maps.Equal(live, c.in.Live) || cmp.Diff(declared, append([]Entry(nil), c.in.Declared...)) != "" {
				t.Error("the input is changed")
			}
		})
	}
	if _, problems := Compute(Input{Kind: Annotation, Declared: []Entry{{"bad key!", "x", at(1)}}}); len(problems) != 1 || !strings.HasPrefix(texts(problems), `invalid-label f.yaml:1: annotation "bad key!": "x"; expected `) {
		t.Error(texts(problems))
	}
}

func TestFromNode(t *testing.T) {
	doc, err := yamldoc.Parse("f.yaml", []byte("labels:\n  a: x\n  b: true\n  c: 12345678901234567890\n  d: null\n  e: [1]\n  f: {g: 1}\nlist: [a]\n"))
	require.NoError(t, err)
	entries, problems := FromNode(Label, doc.Root.Get("labels"))
	want := []Entry{
		{"a", "x", problem.Pos{File: "f.yaml", Line: 2, Column: 6}},
		{"b", "true", problem.Pos{File: "f.yaml", Line: 3, Column: 6}},
		{"c", "12345678901234567890", problem.Pos{File: "f.yaml", Line: 4, Column: 6}},
	}
	assert.Equal(t, want, entries)
	assert.Equal(t, "invalid-label f.yaml:6:6: label \"e\": is a list; expected text\ninvalid-label f.yaml:7:6: label \"f\": is a map; expected text", texts(problems))
	if _, problems := FromNode(Annotation, doc.Root.Get("list")); texts(problems) != "invalid-label f.yaml:8:7: annotations: is a list; expected a map" {
		t.Error(texts(problems))
	}
	if entries, problems := FromNode(Label, nil); entries != nil || problems != nil {
		t.Error(entries, problems)
	}
}

func TestSelector(t *testing.T) {
	labels := map[string]string{"a": "1", "env": "prod"}
	expression := func(key, operator string, values ...any) map[string]any {
		e := map[string]any{"key": key, "operator": operator}
		if values != nil {
			e["values"] = values
		}
		return map[string]any{"matchExpressions": []any{e}}
	}
	for _, c := range []struct {
		selector any
		want     bool
	}{
		{nil, true},
		{map[string]any{}, true},
		{map[string]any{"matchLabels": map[string]any{"a": "1"}}, true},
		{map[string]any{"matchLabels": map[string]any{"a": "2"}}, false},
		{map[string]any{"matchLabels": map[string]any{"a": "1", "env": "dev"}}, false},
		{expression("env", "In", "dev", "prod"), true},
		{expression("env", "NotIn", "prod"), false},
		{expression("absent", "NotIn", "x"), true},
		{expression("a", "Exists"), true},
		{expression("absent", "Exists"), false},
		{expression("absent", "DoesNotExist"), true},
	} {
		s, err := ParseSelector(c.selector)
		if err != nil || s.Matches(labels) != c.want {
			t.Errorf("%v: %v, want %t", c.selector, err, c.want)
		}
	}
	if !(Selector{}).Matches(nil) {
		t.Error("the zero selector selects not all")
	}
	for _, bad := range []any{
		"text",
		[]any{},
		map[string]any{"matchLabel": map[string]any{}},
		expression("a", "Equals", "x"), expression("a", "In"),
		map[string]any{"matchLabels": map[string]any{"a": "not valid!"}},
		expression("bad key!", "Exists"),
	} {
		if _, err := ParseSelector(bad); err == nil || !strings.HasPrefix(err.Error(), "selector: ") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// H10: each part of a selector is compared with every cluster.
func TestSelectorHasALimit(t *testing.T) {
	parts := make([]any, 1000)
	for i := range parts {
		parts[i] = map[string]any{"key": "a", "operator": "Exists"}
	}
	if _, err := ParseSelector(map[string]any{"matchExpressions": parts}); err != nil {
		t.Error(err)
	}
	_, err := ParseSelector(map[string]any{"matchLabels": map[string]any{"a": "1"}, "matchExpressions": parts})
	if err == nil || err.Error() != "selector: 1001 labels and expressions; expected at most 1000" {
		t.Error(err)
	}
}

// TestRefuses: it takes a label that is there to refuse a cluster.
func TestRefuses(t *testing.T) {
	labels := map[string]string{"a": "1", "env": "prod"}
	for selector, want := range map[string]bool{
		`{}`:                             false,
		`{"matchLabels":{"a":"1"}}`:      false,
		`{"matchLabels":{"a":"2"}}`:      true,
		`{"matchLabels":{"absent":"2"}}`: false,
		`{"matchLabels":{"absent":"2","env":"dev"}}`:                                   true,
		`{"matchLabels":{"absent":"2","env":"prod"}}`:                                  false,
		`{"matchExpressions":[{"key":"env","operator":"In","values":["dev"]}]}`:        true,
		`{"matchExpressions":[{"key":"absent","operator":"In","values":["dev"]}]}`:     false,
		`{"matchExpressions":[{"key":"env","operator":"NotIn","values":["prod"]}]}`:    true,
		`{"matchExpressions":[{"key":"absent","operator":"NotIn","values":["prod"]}]}`: false,
		`{"matchExpressions":[{"key":"absent","operator":"Exists"}]}`:                  false,
		`{"matchExpressions":[{"key":"env","operator":"DoesNotExist"}]}`:               true,
	} {
		var v any
		require.NoError(t, json.Unmarshal([]byte(selector), &v))
		s, err := ParseSelector(v)
		if err != nil || s.Refuses(labels) != want {
			t.Errorf("%s: refuses %t, want %t (%v)", selector, !want, want, err)
		}
	}
	if (Selector{}).Refuses(labels) {
		t.Error("the zero selector refuses")
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "prod-eu-1": true, "1a": true, strings.Repeat("x", 63): true, "": false, "-a": false, "a-": false, "A": false, "a.b": false, "a_b": false, "..": false, "é": false, strings.Repeat("x", 64): false} {
		if IsName(name) != want {
			t.Errorf("%q is a name: %t", name, !want)
		}
	}
	for _, part := range []string{"", "a", "-", "0", "A", ".", "_", "\x00", "é", strings.Repeat("x", 61)} {
		for _, name := range []string{part, "a" + part, part + "a", "a" + part + "a", part + part} {
			if want := len(validation.IsDNS1123Label(name)) == 0; IsName(name) != want {
				t.Errorf("%q is a name: %t; Kubernetes: %t", name, !want, want)
			}
		}
	}
}

// A selector in kubectl's form selects what kubectl selects with it.
func TestSelectorFromText(t *testing.T) {
	sets := []map[string]string{nil, {"a": "1"}, {"a": "2"}, {"a": "1", "b": "x"}, {"b": ""}, {"a": "", "b": "y"}}
	for _, text := range []string{"", "a", "!a", "a=1", "a==1", "a!=1", "a in (1,2)", "a notin (1, 2),b", "a=1,a=2", "a=", "a=1,b!=x", " a , !b "} {
		want, err := k8slabels.Parse(text)
		require.NoError(t, err)
		object, err := SelectorFromText(text)
		require.NoError(t, err)
		got, err := ParseSelector(object)
		require.NoError(t, err, "%q", text)
		for _, set := range sets {
			if got.Matches(set) != want.Matches(k8slabels.Set(set)) {
				t.Errorf("%q and %v: got %v, as for kubectl not", text, set, got.Matches(set))
			}
		}
	}
	for _, text := range []string{"a>1", "a<1", "a in", "=1", "a=b=c", "a=\"x\"", "-a"} {
		if object, err := SelectorFromText(text); err == nil {
			t.Errorf("%q: %v", text, object)
		}
	}
}

// A selector demands a value if no cluster without it can be selected; one part that says so is
// enough.
func TestSelectorDemands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"tenant=a":                          true,
		"tenant==b":                         true,
		"tenant in (a,b)":                   true,
		"tenant in (a,c)":                   false,
		"tenant=c":                          false,
		"tenant=a,environment!=x":           true,
		"tenant=c,tenant=a":                 true, // selects nothing
		"tenant!=c":                         false,
		"tenant notin (c)":                  false,
		"tenant":                            false,
		"!tenant":                           false,
		"environment=a":                     false,
		"tenants=a":                         false,
		"environment in (x),tenant in (a)":  true,
		"environment in (x),tenant in (ab)": false,
	} {
		v, err := SelectorFromText(text)
		require.NoError(t, err)
		s, err := ParseSelector(v)
		require.NoError(t, err)
		assert.Equal(t, want, s.Demands("tenant", []string{"a", "b"}), "%s", text)
		if !want {
			continue
		}
		for _, tenant := range []string{"c", "", "ab"} {
			if s.Matches(map[string]string{"tenant": tenant, "environment": "x"}) {
				t.Errorf("%s selects tenant %q", text, tenant)
			}
		}
		if s.Matches(map[string]string{"environment": "x"}) {
			t.Errorf("%s selects what has no tenant", text)
		}
	}
	if all, err := ParseSelector(nil); err != nil || all.Demands("tenant", []string{"a"}) {
		t.Errorf("everything: %v", err)
	}
}

// TestAnnotationsFitTheSecret is rules L2 and W2: the API server refuses more than 256 KiB of
// annotations in all, and each parameter set repeats them.
func TestAnnotationsFitTheSecret(t *testing.T) {
	half := strings.Repeat("x", 128<<10)
	fit := []Entry{{"a", half, at(1)}, {"b", half[:len(half)-2], at(2)}}
	if _, problems := Compute(Input{Kind: Annotation, Declared: fit}); len(problems) > 0 {
		t.Error(texts(problems))
	}
	_, problems := Compute(Input{Kind: Annotation, Declared: append(fit, Entry{"c", "", at(3)})})
	assert.Equal(t, `invalid-label f.yaml:1: annotation "a": all annotations have 262145 bytes; expected at most 262144`, texts(problems))
}

// TestReplacedLabels: whatever the result has otherwise than the live Secret is in one list, with
// both values; what it has the same, and what it adds, is not (L1).
func TestReplacedLabels(t *testing.T) {
	s, _ := Compute(Input{
		Kind: Label, Live: map[string]string{Tenant: "x", SecretType: SecretTypeValue, "a": "live", "b": "same", "c": "<no value>", "d": "kept", "e": ""},
		Declared: []Entry{{"a", "git", problem.Pos{}}, {"b", "same", problem.Pos{}}, {"e", "git", problem.Pos{}}, {"f", "added", problem.Pos{}}},
		Reserved: map[string]string{Tenant: "t", SecretType: SecretTypeValue},
	})
	var got []string
	for _, r := range s.Replaced {
		got = append(got, r.Key+": "+r.String())
	}
	want := []string{
		`a: "git" replaces "live" of the cluster Secret`, `c: "<no value>" of the cluster Secret is left out: it is invalid`,
		`e: "git" replaces "" of the cluster Secret`, `tenant: "t" replaces "x" of the cluster Secret`,
	}
	assert.Equal(t, want, got)
	if s.Live("b") != nil || *s.Live("a") != "live" {
		t.Errorf("%v %v", s.Live("a"), s.Live("b"))
	}
}

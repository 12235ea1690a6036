package provision_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// read reads the text of a member file.
func read(t *testing.T, text string) (*provision.Spec, []problem.Problem) {
	t.Helper()
	doc, err := yamldoc.Parse("a.yaml", []byte(text))
	require.NoError(t, err)
	r := yamldoc.NewReader(doc)
	var file struct {
		Deletes bool          `json:"infrastructure,omitempty" jsonschema:"enum=keep,enum=delete"`
		Own     *yamldoc.Node `json:"provision,omitempty"`
		Hub     string        `json:"fleet_member,omitempty"`
		NoGroup bool          `json:"nogroup,omitempty"`
		Remote  bool          `json:"enable_remote_provisioning,omitempty"`
	}
	at := r.Decode(doc.Root, "member file", problem.InvalidMember, &file)
	s := provision.Read(at, file.Deletes, file.Hub != "", !file.NoGroup)
	return s, r.Problems()
}

func lines(all []problem.Problem) string {
	var out []string
	for _, p := range all {
		out = append(out, p.Error())
	}
	return strings.Join(out, "\n")
}

// C1, C2: each mistake of the file is named at its place.
func TestProvisionErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"provision: {class: eks, version: '1.33'}", ""},
		{"provision: {class: eks, version: 1.33.2, nodes: {version: '1.30'}, account: '0123', region: eu-west-1, inputs: {a: 1}}", ""},
		{"provision: {}", "a.yaml:1:12: key \"provision.class\": missing or empty; expected the name of a class\n" +
			"a.yaml:1:12: key \"provision.version\": missing or empty; expected a minor version or a release of it, such as \"1.33\" or \"1.33.2\""},
		{"provision: {class: EKS, version: '1.33'}", `a.yaml:1:20: key "provision.class": "EKS" is not a DNS-1123 label; expected lower case letters, digits and inner hyphens, at most 63`},
		{"provision: {class: eks, version: 1.30}", `a.yaml:1:34: key "provision.version": is a number; expected text; put it in quotes: YAML reads 1.30 as 1.3`},
		{"provision: {class: eks, version: latest}", `a.yaml:1:34: key "provision.version": "latest" is not a version; expected a minor version or a release of it, such as "1.33" or "1.33.2"`},
		{"provision: {class: eks, version: '1.33', nodes: {version: '1.34'}}", `a.yaml:1:59: key "provision.nodes.version": 1.34 is ahead of the control plane; expected at most 1.33`},
		{"provision: {class: eks, version: 1.33.1, nodes: {version: 1.33.2}}", `a.yaml:1:59: key "provision.nodes.version": 1.33.2 is ahead of the control plane; expected at most 1.33.1`},
		{"provision: {class: eks, version: '1.33', nodes: {version: '1.29'}}", `a.yaml:1:59: key "provision.nodes.version": 1.29 is 4 minor versions behind the control plane, 1.33; expected at most 3 behind`},
		{"provision: {class: eks, version: '2.0', nodes: {version: '1.33'}}", `a.yaml:1:58: key "provision.nodes.version": 1.33 is 1000 minor versions behind the control plane, 2.0; expected at most 3 behind`},
		{"provision: {klass: eks, class: eks, version: '1.33'}", `a.yaml:1:13: key "klass": not known in key "provision"; did you mean "class"?`},
		{"provision: {class: eks, version: '1.33', account: 0123}", `a.yaml:1:51: key "provision.account": is a number; expected text; put it in quotes: YAML reads 0123 as 83`},
		{"{provision: {class: eks, version: '1.33'}, fleet_member: hub-cluster}", `a.yaml:1:13: key "provision": for a hub; expected no such key: a hub is there before its members are`},
		{"{provision: {class: eks, version: '1.33'}, nogroup: true}", `a.yaml:1:13: key "provision": the layout has no group provisioning; expected the group, with a catalog of classes`},
		{"{provision: {class: eks, version: '1.33'}, enable_remote_provisioning: true}", `a.yaml:1:72: key "enable_remote_provisioning": true: the cluster's engine cannot make its own cluster; expected no such key`},
		{"infrastructure: delete", `a.yaml:1:17: key "infrastructure": delete, of a cluster that is not provisioned here; expected keep, or the key provision`},
		{"{provision: {class: eks, version: '1.33'}, infrastructure: deleted}", `a.yaml:1:60: key "infrastructure": "deleted"; expected keep or delete; did you mean "delete"?`},
	} {
		if _, got := read(t, c.text); lines(got) != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, lines(got), c.want)
		}
	}
}

// C2: a control plane goes one minor version at a time, and a running cluster keeps what it is.
func TestChangeUnderARunningCluster(t *testing.T) {
	spec := func(class, version, region string) *provision.Spec {
		s, problems := read(t, fmt.Sprintf("provision: {class: %s, version: %q, region: %s}", class, version, region))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return s
	}
	for _, c := range []struct {
		class, version, region string
		want                   string
	}{
		{"eks", "1.31", "eu", ""},
		{"eks", "1.31.4", "eu", ""},
		{"eks", "1.32", "eu", ""},
		{"eks", "1.33", "eu", `a.yaml:1:34: key "provision.version": skips from 1.31 to 1.33; expected at most 1.32; one minor version at a time`},
		{"eks", "1.30", "eu", `a.yaml:1:34: key "provision.version": goes back from 1.31 to 1.30; expected at least 1.31`},
		{"eks", "2.0", "eu", `a.yaml:1:34: key "provision.version": skips from 1.31 to 2.0; expected at most 1.32; one minor version at a time`},
		{"gke", "1.31", "eu", `a.yaml:1:20: key "provision.class": changes from "eks" to "gke", under a running cluster; expected "eks"; another cluster beside this one, and this one retired when it has no work left`},
		{"eks", "1.31", "us", `a.yaml:1:50: key "provision.region": changes from "eu" to "us", under a running cluster; expected "eu"; another cluster beside this one, and this one retired when it has no work left`},
	} {
		assert.Equal(t, c.want, lines(provision.Change(spec("eks", "1.31", "eu"), spec(c.class, c.version, c.region))), "%v", c)
	}
	if got := provision.Change(nil, spec("eks", "1.31", "eu")); got != nil {
		t.Error(got)
	}
}

// A member sees the entries of its own class, and a class that a level switches off is not offered.
func TestClassIsOneOfTheCatalogs(t *testing.T) {
	layer := func(level, text string) hierarchy.Layer {
		doc, err := yamldoc.Parse(level+".yaml", []byte(text))
		require.NoError(t, err)
		return hierarchy.Layer{Level: level, Path: doc.File, Root: doc.Root}
	}
	layers := []hierarchy.Layer{
		layer("catalog", "components: {eks: {enabled: false}, eks-nodes: {dependsOn: [eks]}, kind: {enabled: false}, old: {enabled: true}}"),
		layer("system", "{eks: {enabled: true}, eks-nodes: {enabled: true}, old: {enabled: false}}"),
	}
	for class, want := range map[string]string{
		"eks":       "",
		"ekss":      `a.yaml:1:20: class "ekss": is not offered to this cluster; expected one of eks; did you mean "eks"?`,
		"old":       `a.yaml:1:20: class "old": is not offered to this cluster; expected one of eks`,
		"eks-nodes": `a.yaml:1:20: class "eks-nodes": is not offered to this cluster; expected one of eks`,
	} {
		s, _ := read(t, "provision: {class: "+class+", version: '1.33'}")
		own, problems := s.Catalogs(provision.Group, layers)
		assert.Equal(t, want, lines(problems), "%s", class)
		if names := fmt.Sprint(catalog.Layers(own).Components()); class == "eks" && names != "[eks eks-nodes]" {
			t.Error(names)
		}
	}
	if own, problems := (*provision.Spec)(nil).Catalogs(provision.Group, layers); len(own)+len(problems) > 0 {
		t.Error(own, problems)
	}
}

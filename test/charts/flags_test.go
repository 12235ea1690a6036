package charts_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	members "github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// flipped are one of each kind of member: an agent with Argo CD, one with Flux, one that the hub
// deploys to, a hub.
var flipped = []string{"payments-prod-eu-1", "analytics-prod-eu-1", "retail-prod-eu-1", "hub-us"}

// fleetFiles are this repository's files as a fleet.
func fleetFiles(t *testing.T) map[string]*snapshot.File {
	t.Helper()
	folder, err := dir.New(repo, source.Limits{})
	require.NoError(t, err)
	s, err := folder.Snapshot(t.Context())
	require.NoError(t, err)
	files := map[string]*snapshot.File{}
	for _, p := range s.Paths() {
		files[p] = s.File(p)
	}
	return files
}

func buildFleet(t *testing.T, previous *fleetstate.State, files map[string]*snapshot.File) *fleetstate.State {
	t.Helper()
	st, err := fleetstate.Build(previous, snapshot.New("rev", files), facts.NewSet(false))
	require.NoError(t, err)
	for _, p := range st.Problems {
		t.Errorf("%v", p)
	}
	return st
}

// seen are the parameter sets that the engines of a fleet get, by engine and the Application's
// name. The labels of the cluster, which all of its sets have, are apart.
type seen struct {
	sets   map[string]map[string]any
	about  map[string]string            // the cluster of a set
	labels map[string]map[string]string // by cluster
}

// everything asks every view for every owner.
func everything(t *testing.T, st *fleetstate.State) seen {
	t.Helper()
	out := seen{map[string]map[string]any{}, map[string]string{}, map[string]map[string]string{}}
	for _, hub := range st.Fleet.Hubs() {
		owners := []string{members.OwnerHub}
		for _, m := range st.Fleet.Members(hub) {
			if m.Remote {
				owners = append(owners, m.Name)
			}
		}
		for _, owner := range owners {
			for _, group := range fleetGroups {
				out.add(t, st, query.Query{View: query.Components, Hub: hub, Group: group, Owner: owner})
				out.add(t, st, query.Query{View: query.Releases, Hub: hub, Group: group, Owner: owner})
			}
		}
		out.add(t, st, query.Query{View: query.Members, Hub: hub})
		out.add(t, st, query.Query{View: query.Agents, Hub: hub})
	}
	return out
}

func (s seen) add(t *testing.T, st *fleetstate.State, r query.Query) {
	t.Helper()
	text, err := response.Bytes(st, r)
	require.NoError(t, err, "%+v", r)
	var answer struct {
		Output struct {
			Parameters []map[string]any `json:"parameters"`
		} `json:"output"`
	}
	require.NoError(t, json.Unmarshal(text, &answer))
	for _, set := range answer.Output.Parameters {
		cluster, _ := set["name"].(string)
		key := fmt.Sprintf("%s/%s %s", r.Hub, cmp.Or(r.Owner, members.OwnerHub), set["applicationName"])
		if r.View != query.Releases {
			s.about[key], s.labels[cluster] = cluster, map[string]string{}
			for label, value := range set["metadata"].(map[string]any)["labels"].(map[string]any) {
				s.labels[cluster][label] = value.(string)
			}
		}
		// What is the cluster's and not the Application's.
		for _, of := range []string{"metadata", "model", "digest", "secretLabels", "clusters", "name", "nameNormalized", "components"} {
			delete(set, of)
		}
		for _, field := range []string{"helmValues", "credentialValues"} {
			text, ok := set[field].(string)
			if !ok {
				continue
			}
			var tree map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(text), &tree))
			for _, at := range []string{"externalSecret", "localCluster"} { // of charts/fleet-secret and charts/generator-plugin
				if inner, ok := tree[at].(map[string]any); ok && r.View != query.Components {
					delete(inner, "labels")
				}
			}
			set[field] = tree
		}
		if s.sets[key] != nil {
			t.Errorf("%s is answered twice", key)
		}
		s.sets[key] = set
	}
}

// differences are the lines of what came (+), went (-) and changed (~, with the fields that did).
func (s seen) differences(after seen) (lines, keys []string) {
	all := maps.Clone(s.sets)
	maps.Copy(all, after.sets)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		was, is := s.sets[key], after.sets[key]
		switch {
		case reflect.DeepEqual(was, is):
			continue
		case was == nil:
			lines = append(lines, "+ "+key)
		case is == nil:
			lines = append(lines, "- "+key)
		default:
			lines = append(lines, "~ "+key+": "+strings.Join(fields(was, is, ""), ", "))
		}
		keys = append(keys, key)
	}
	return lines, keys
}

// fields are the paths at which two trees differ.
func fields(a, b any, path string) []string {
	m, isMap := a.(map[string]any)
	n, isMapToo := b.(map[string]any)
	if !isMap || !isMapToo {
		if reflect.DeepEqual(a, b) {
			return nil
		}
		return []string{strings.TrimPrefix(path, ".")}
	}
	var out []string
	all := maps.Clone(m)
	maps.Copy(all, n)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, fields(m[k], n[k], path+"."+k)...)
	}
	return out
}

// with is a member file in which a flag has another value.
func with(data []byte, flag, value string) []byte {
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(flag) + `:.*$`)
	text := fmt.Sprintf("%s: %q", flag, value)
	if line.Match(data) {
		return line.ReplaceAll(data, []byte(text))
	}
	return append(slices.Clone(data), "\n"+text+"\n"...)
}

// Lesson 6, L3: flipping one flag of one member, with everything else as it is, changes the label
// of the flag's name and what the flag stands for: Applications of this member alone, and the same
// in every other answer. What that is stands in testdata/flags.txt, for each flag and each kind of
// member.
func TestEachFlagSwitchesItsOwn(t *testing.T) {
	files := fleetFiles(t)
	before := buildFleet(t, nil, files)
	was := everything(t, before)
	var out strings.Builder
	for _, name := range flipped {
		var m *members.Member
		for _, hub := range before.Fleet.Hubs() {
			if found := before.Fleet.Member(hub, name); found != nil {
				m = found
			}
		}
		flags := slices.Clone(members.Flags)
		for _, group := range before.Fleet.Layout.GroupNames() {
			if group != "provisioning" { // refused: no cluster's engine makes its own cluster (C1)
				flags = append(flags, "enable_remote_"+group)
			}
		}
		for _, flag := range flags {
			if m.IsHub && flag == "use_remote_argo" {
				continue // refused: a hub deploys to itself
			}
			from, to := m.Flag(flag), "true"
			if from == to {
				to = "false"
			}
			changed := maps.Clone(files)
			changed[m.Pos.File] = snapshot.NewFile(m.Pos.File, with(files[m.Pos.File].Data, flag, to), snapshot.MaxFileSize)
			is := everything(t, buildFleet(t, before, changed))
			lines, keys := was.differences(is)
			fmt.Fprintf(&out, "%s %s: %s -> %s\n", name, flag, from, to)
			for _, line := range lines {
				fmt.Fprintf(&out, "  %s\n", line)
			}
			for _, key := range keys {
				if about := cmp.Or(was.about[key], is.about[key]); about != name && !strings.Contains(key, " application-sets-") {
					t.Errorf("%s of %s changes %s, of %s", flag, name, key, about)
				}
			}
			onlyLabel(t, was.labels, is.labels, name, flag, to)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/flags.txt", []byte(out.String()), 0o644))
		return
	}
	want, err := os.ReadFile("testdata/flags.txt")
	require.NoError(t, err)
	assert.Equal(t, strings.Split(string(want), "\n"), strings.Split(out.String(), "\n"))
}

// onlyLabel fails where any label of any cluster but the flag's own differs.
func onlyLabel(t *testing.T, before, after map[string]map[string]string, name, flag, value string) {
	t.Helper()
	for cluster, was := range before {
		want := maps.Clone(was)
		if cluster == name {
			want[flag] = value
		}
		if !maps.Equal(want, after[cluster]) {
			t.Errorf("%s of %s: %s: labels %v, want %v", flag, name, cluster, after[cluster], want)
		}
	}
}

package fleetrepo

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	sigsyaml "sigs.k8s.io/yaml"
)

const layoutFile = "fleet/layout.yaml"

// layout is what this package needs of fleet/layout.yaml, where this repository spells all of it
// out.
type layout struct {
	Members string            `yaml:"members"`
	Groups  map[string]*group `yaml:"groups"`
	Levels  []level           `yaml:"levels"`
	Hubs    []level           `yaml:"hubLevels"`
	Files   struct {
		Catalog string `yaml:"catalog"`
	} `yaml:"files"`
}

type group struct {
	Root    string `yaml:"root"`
	Catalog string `yaml:"catalog"`
}

type level struct {
	Dir string `yaml:"dir"`
}

// member is one cluster's file.
type member struct {
	path, hub, cluster      string
	Tenant                  string         `yaml:"tenant"`
	Environment             string         `yaml:"environment"`
	FleetMember             string         `yaml:"fleet_member"`
	SecretManagerSecretName string         `yaml:"secretManagerSecretName"`
	Labels                  map[string]any `yaml:"labels"`
}

func (m member) isHub() bool { return m.FleetMember == "hub-cluster" }

// fleet is a fleet's files and what they say about its members.
type fleet struct {
	files   map[string][]byte
	layout  layout
	members []member          // by path
	reached []map[string]bool // of each member: the folders of its levels
}

func newFleet(files map[string][]byte) (fleet, error) {
	f := fleet{files: files}
	if err := unmarshal(files, layoutFile, &f.layout); err != nil {
		return fleet{}, err
	}
	for key, missing := range map[string]bool{
		"members": f.layout.Members == "", "groups": len(f.layout.Groups) == 0, "files.catalog": f.layout.Files.Catalog == "",
		"levels": len(f.layout.Levels) == 0, "hubLevels": len(f.layout.Hubs) == 0,
	} {
		if missing {
			return fleet{}, fmt.Errorf("%s: %s is missing: expected a layout that spells out its defaults", layoutFile, key)
		}
	}
	pattern, err := memberPattern(f.layout.Members)
	if err != nil {
		return fleet{}, err
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		match := pattern.FindStringSubmatch(file)
		if match == nil {
			continue
		}
		m := member{path: file, hub: match[pattern.SubexpIndex("hub")], cluster: match[pattern.SubexpIndex("cluster")]}
		if err := unmarshal(files, file, &m); err != nil {
			return fleet{}, err
		}
		folders, err := f.folders(m)
		if err != nil {
			return fleet{}, err
		}
		f.members, f.reached = append(f.members, m), append(f.reached, folders)
	}
	return f, nil
}

// memberPattern turns the path of member files around: from a path to hub and cluster.
func memberPattern(text string) (*regexp.Regexp, error) {
	const hub, cluster = "-hub-", "-cluster-" // regexp.QuoteMeta leaves them as they are
	sample, err := render(text, map[string]any{"hub": hub, "cluster": cluster})
	if err != nil {
		return nil, fmt.Errorf("%s: members: %w", layoutFile, err)
	}
	expression := strings.NewReplacer(hub, `(?P<hub>[^/]+)`, cluster, `(?P<cluster>[^/]+)`).Replace(regexp.QuoteMeta(sample))
	return regexp.Compile("^" + expression + "$")
}

// member finds a member.
func (f fleet) member(hub, cluster string) (member, error) {
	var known []string
	for _, m := range f.members {
		switch {
		case m.hub != hub:
		case m.cluster == cluster:
			return m, nil
		default:
			known = append(known, m.cluster)
		}
	}
	return member{}, fmt.Errorf("hub %q has no member %q: it has %s", hub, cluster, strings.Join(known, ", "))
}

// folders are those of a member's levels in all groups.
func (f fleet) folders(m member) (map[string]bool, error) {
	levels := f.layout.Levels
	if m.isHub() {
		levels = f.layout.Hubs
	}
	own := maps.Clone(m.Labels)
	if own == nil {
		own = map[string]any{}
	}
	own["tenant"], own["environment"], own["fleet_member"] = m.Tenant, m.Environment, m.FleetMember
	folders := map[string]bool{}
	for name, g := range f.layout.Groups {
		if g == nil {
			continue
		}
		for _, l := range levels {
			dir, err := render(l.Dir, map[string]any{
				"root": g.Root, "group": name, "hub": m.hub, "cluster": m.cluster, "name": m.cluster,
				"tenant": m.Tenant, "environment": m.Environment, "labels": own,
			})
			if err != nil {
				return nil, fmt.Errorf("%s: levels: %s of %s: %w", layoutFile, l.Dir, m.path, err)
			}
			folders[path.Clean(dir)] = true
		}
	}
	return folders, nil
}

// left are the files that stay when only some members do: those of other members go, and those that
// are at a level that only they have (5).
func (f fleet) left(keeps func(member) bool) map[string]bool {
	gone, used := map[string]bool{}, map[string]bool{}
	stays := map[string]bool{}
	for file := range f.files {
		stays[file] = true
	}
	for i, m := range f.members {
		folders := gone
		if keeps(m) {
			folders = used
		} else {
			delete(stays, m.path)
		}
		for folder := range f.reached[i] {
			folders[folder] = true
		}
	}
	for file := range f.files {
		// The innermost level that a file is in is the one it belongs to.
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if used[dir] {
				break
			}
			if gone[dir] {
				delete(stays, file)
				break
			}
		}
	}
	f.dropTeams(stays, keeps)
	return stays
}

// workloads is the catalog of the teams' applications.
const workloads = "fleet/workloads.yaml"

// text is a file's, of which the catalog of applications lacks those of teams that have gone.
func (f fleet) text(file string, stays map[string]bool) string {
	var catalog struct {
		Components map[string]map[string]any `json:"components"`
	}
	if file != workloads || sigsyaml.Unmarshal(f.files[file], &catalog) != nil {
		return string(f.files[file])
	}
	maps.DeleteFunc(catalog.Components, func(_ string, entry map[string]any) bool {
		return !stays[fmt.Sprintf("fleet/teams/%s.yaml", entry["team"])]
	})
	out, err := sigsyaml.Marshal(catalog)
	if err != nil {
		return string(f.files[file])
	}
	return string(out)
}

// dropTeams drops the files of teams that no member is left for, and their values.
func (f fleet) dropTeams(stays map[string]bool, keeps func(member) bool) {
	for file := range f.files {
		if path.Dir(file) != "fleet/teams" {
			continue
		}
		var team struct {
			Tenant   string               `json:"tenant"`
			Clusters metav1.LabelSelector `json:"clusters"`
		}
		if sigsyaml.Unmarshal(f.files[file], &team) != nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(&team.Clusters)
		if err == nil && !slices.ContainsFunc(f.members, func(m member) bool {
			set := labels.Set{"environment": m.Environment, "cluster": m.cluster, "hub": m.hub}
			for key, value := range m.Labels {
				set[key] = fmt.Sprint(value)
			}
			return !m.isHub() && keeps(m) && m.Tenant == team.Tenant && selector.Matches(set)
		}) {
			delete(stays, file)
			values := "/teams/team-" + strings.TrimSuffix(path.Base(file), ".yaml") + "/"
			maps.DeleteFunc(stays, func(p string, _ bool) bool { return strings.Contains(p, values) })
		}
	}
}

// render renders a path of the layout.
func render(text string, facts map[string]any) (string, error) {
	t, err := template.New("path").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, facts)
	return out.String(), err
}

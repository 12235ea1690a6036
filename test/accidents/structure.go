package accidents

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ofStructure are accidents with one cause and an effect on many members: to the layout, to the
// folders of levels, to catalogs, and to what members say of themselves.
var ofStructure = []accident{
	{"a catalog emptied", func(r *Repository, rng *rand.Rand) (string, error) {
		return r.editOne(rng, r.catalogs, func(string) string { return "# nothing\n" })
	}},
	{"all catalogs of a group emptied", func(r *Repository, rng *rand.Rand) (string, error) {
		catalogs, err := r.catalogs()
		if err != nil || len(catalogs) == 0 {
			return "", err
		}
		group := path.Base(catalogs[rng.IntN(len(catalogs))])
		for _, name := range catalogs {
			if path.Base(name) == group {
				if err := os.WriteFile(r.Path(name), []byte("components: {}\n"), 0o600); err != nil {
					return "", err
				}
			}
		}
		return group, nil
	}},
	{"folders of levels swapped", swapLevels},
	{"the layout replaced", func(r *Repository, rng *rand.Rand) (string, error) {
		return r.editLayout(rng, []func(string) string{
			func(text string) string { return strings.ReplaceAll(text, `"{{ .root }}/`, `"{{ .root }}/nowhere/`) },
			func(text string) string {
				return strings.ReplaceAll(text, `{{ .root }}/tenants/{{ .tenant }}`, `{{ .root }}/{{ .tenant }}`)
			},
			func(text string) string {
				return strings.ReplaceAll(text, "application-sets/{{ .group }}.yaml", "catalogs/{{ .group }}.yaml")
			},
			func(text string) string { return strings.ReplaceAll(text, "root: addons", "root: add-ons") },
			func(string) string { return "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n" },
		})
	}},
	{"a group of the layout nulled", func(r *Repository, rng *rand.Rand) (string, error) {
		var changes []func(string) string
		for _, group := range []string{"addons", "monitoring", "fleet", "resources"} {
			changes = append(changes, func(text string) string {
				return regexp.MustCompile(`(?m)^  `+group+`:\n(    .*\n)+`).ReplaceAllString(text, "  "+group+": null\n")
			})
		}
		return r.editLayout(rng, changes)
	}},
	{"members of another tenant", rewriteMembers("tenant", "retail", "payments", "analytics")},
	{"members of another environment", rewriteMembers("environment", "dev", "staging", "prod")},
	{"an entry of null", func(r *Repository, rng *rand.Rand) (string, error) {
		entry := regexp.MustCompile(`(?m)^  ([a-z0-9-]+):\n(    .*\n)+`)
		return r.editOne(rng, r.catalogs, func(text string) string { return replaceOne(rng, entry, text, "  $1: null\n") })
	}},
	{"a boolean misspelt", func(r *Repository, rng *rand.Rand) (string, error) {
		wrong := []string{"null", "ture", "flase", "~", `""`, "yes", "0"}
		enabled := regexp.MustCompile(`enabled: (true|false)`)
		return r.editOne(rng, r.catalogs, func(text string) string {
			return replaceOne(rng, enabled, text, "enabled: "+wrong[rng.IntN(len(wrong))])
		})
	}},
	{"a label demanded that is null", func(r *Repository, rng *rand.Rand) (string, error) {
		label := regexp.MustCompile(`(?m)^( +matchLabels:\n +[A-Za-z0-9_./-]+:) .*$`)
		return r.editOne(rng, r.catalogs, func(text string) string { return replaceOne(rng, label, text, "$1 null") })
	}},
	{"the catalogs of the chart removed", func(r *Repository, _ *rand.Rand) (string, error) {
		return chartCatalogs, os.RemoveAll(r.Path(chartCatalogs))
	}},
	{"the bootstrap removed", func(r *Repository, _ *rand.Rand) (string, error) {
		return "fleet/bootstrap", os.RemoveAll(r.Path("fleet/bootstrap"))
	}},
}

// chartCatalogs is the folder of the catalogs that travel with a chart.
const chartCatalogs = "charts/application-sets/catalogs"

// catalogs are the catalog files of levels and of the chart, sorted.
func (r *Repository) catalogs() ([]string, error) {
	all, err := r.files("addons", "resources", chartCatalogs)
	return slices.DeleteFunc(all, func(name string) bool {
		return path.Base(path.Dir(name)) != "application-sets" && path.Dir(name) != chartCatalogs
	}), err
}

// editOne changes the content of one of some files.
func (r *Repository) editOne(rng *rand.Rand, find func() ([]string, error), change func(string) string) (string, error) {
	names, err := find()
	if err != nil || len(names) == 0 {
		return "", err
	}
	name := names[rng.IntN(len(names))]
	return name, r.edit(name, change)
}

func (r *Repository) edit(name string, change func(string) string) error {
	content, err := os.ReadFile(r.Path(name))
	if err != nil {
		return err
	}
	return os.WriteFile(r.Path(name), []byte(change(string(content))), 0o600)
}

// editLayout makes one of some changes to the layout. The removal budget stays.
func (r *Repository) editLayout(rng *rand.Rand, changes []func(string) string) (string, error) {
	const name = "fleet/layout.yaml"
	if _, err := os.Stat(r.Path(name)); err != nil {
		return "", nil //nolint:nilerr // an accident before has taken it away
	}
	i := rng.IntN(len(changes))
	return fmt.Sprintf("%s, change %d", name, i+1), r.edit(name, func(text string) string {
		layout, guard, found := strings.Cut(text, budget)
		layout = changes[i](layout)
		if found {
			layout += budget + guard
		}
		return layout
	})
}

// replaceOne replaces one of the matches of a pattern.
func replaceOne(rng *rand.Rand, pattern *regexp.Regexp, text, by string) string {
	all := pattern.FindAllStringIndex(text, -1)
	if len(all) == 0 {
		return text
	}
	at := all[rng.IntN(len(all))]
	return text[:at[0]] + pattern.ReplaceAllString(text[at[0]:at[1]], by) + text[at[1]:]
}

// swapLevels exchanges the contents of two folders, of which none is in the other.
func swapLevels(r *Repository, rng *rand.Rand) (string, error) {
	below := []string{"addons", "resources"}[rng.IntN(2)]
	a, err := pick(r.directories, rng, below)
	if a == "" || err != nil {
		return "", err
	}
	b, err := pick(r.directories, rng, below)
	if err != nil || a == b || strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/") {
		return "", err
	}
	aside := r.Path(a) + "-aside"
	for _, move := range [][2]string{{r.Path(a), aside}, {r.Path(b), r.Path(a)}, {aside, r.Path(b)}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			return "", err
		}
	}
	return a + " and " + b, nil
}

// rewriteMembers gives all members of a value another value.
func rewriteMembers(key string, values ...string) func(*Repository, *rand.Rand) (string, error) {
	return func(r *Repository, rng *rand.Rand) (string, error) {
		names, err := r.files("fleet/fleet-members")
		from, to := values[rng.IntN(len(values))], values[rng.IntN(len(values))]
		if err != nil || from == to {
			return "", err
		}
		for _, name := range names {
			if err := r.edit(name, func(text string) string {
				return strings.Replace(text, key+": "+from, key+": "+to, 1)
			}); err != nil {
				return "", err
			}
		}
		return from + " to " + to, nil
	}
}

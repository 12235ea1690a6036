package accidents

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path"
	"strings"
)

// accident is something that happens to a repository. It changes the files, or the history itself,
// and says what it did; an empty text means that there was nothing to do it to.
type accident struct {
	name string
	do   func(*Repository, *rand.Rand) (string, error)
}

var accidents = []accident{
	{"a file cut short", onFile(func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b)+1)] })},
	{"conflict markers", onFile(conflict)},
	{"bytes that are no UTF-8", onFile(func(r *rand.Rand, b []byte) []byte { return insert(b, r.IntN(len(b)+1), []byte{0xff, 0xfe, 0xc3}) })},
	{"a file without content", onFile(func(*rand.Rand, []byte) []byte { return nil })},
	{"a huge file", onFile(func(_ *rand.Rand, b []byte) []byte { return append(b, bytes.Repeat([]byte("# more\n"), 2<<20)...) })},
	{"a key twice", onFile(func(_ *rand.Rand, b []byte) []byte { return append(b, b...) })},
	{"indentation lost", onFile(func(_ *rand.Rand, b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n  "), []byte("\n ")) })},
	{"tabs", onFile(func(_ *rand.Rand, b []byte) []byte { return bytes.ReplaceAll(b, []byte("  "), []byte("\t")) })},
	{"a template that does not end", onFile(func(_ *rand.Rand, b []byte) []byte { return append(b, "\nx: {{ .nothing.at.all\n"...) })},
	{"a release that is not", onFile(func(_ *rand.Rand, b []byte) []byte { return bytes.ReplaceAll(b, []byte("canary"), []byte("canarry")) })},
	{"an alias bomb", onFile(func(_ *rand.Rand, b []byte) []byte { return append(b, bomb...) })},
	{"a line lost", onFile(lineLost)},
	{"two files exchanged", exchanged},
	{"a file deleted", func(r *Repository, rng *rand.Rand) (string, error) {
		name, err := pick(r.files, rng, "fleet", "addons", "resources", "versions")
		if name == "" || err != nil {
			return "", err
		}
		return name, os.Remove(r.Path(name))
	}},
	{"a folder deleted", func(r *Repository, rng *rand.Rand) (string, error) {
		name, err := pick(r.directories, rng, "fleet", "addons", "resources", "versions")
		if name == "" || err != nil {
			return "", err
		}
		return name, os.RemoveAll(r.Path(name))
	}},
	{"a folder renamed", func(r *Repository, rng *rand.Rand) (string, error) {
		name, err := pick(r.directories, rng, "fleet", "addons", "resources", "versions")
		if name == "" || err != nil {
			return "", err
		}
		return name, os.Rename(r.Path(name), r.Path(name+"-old"))
	}},
	{"a member renamed", func(r *Repository, rng *rand.Rand) (string, error) {
		name, err := pick(r.files, rng, "fleet/fleet-members")
		if name == "" || err != nil {
			return "", err
		}
		return name, os.Rename(r.Path(name), r.Path(strings.TrimSuffix(name, ".yaml")+"-x.yaml"))
	}},
	{"everything deleted", func(r *Repository, _ *rand.Rand) (string, error) {
		for _, f := range folders {
			if err := os.RemoveAll(r.Path(f)); err != nil {
				return "", err
			}
		}
		return "all folders", nil
	}},
	{"the branch forced back", func(r *Repository, rng *rand.Rand) (string, error) {
		to := "HEAD~" + string(rune('1'+rng.IntN(5)))
		if _, err := r.Git("rev-parse", "--verify", "-q", to); err != nil {
			return "", nil
		}
		_, err := r.Git("reset", "-q", "--hard", to)
		return to, err
	}},
	{"another history", func(r *Repository, _ *rand.Rand) (string, error) {
		empty, err := r.Git("hash-object", "-t", "tree", "-w", "/dev/null")
		if err != nil {
			return "", err
		}
		root, err := r.Git("commit-tree", "-m", "nothing", empty)
		if err != nil {
			return "", err
		}
		_, err = r.Git("reset", "-q", "--hard", root)
		return root, err
	}},
}

//nolint:dupword // it is what makes it a bomb
const bomb = `
a0: &a0 [x, x, x, x, x, x, x, x, x, x]
a1: &a1 [*a0, *a0, *a0, *a0, *a0, *a0, *a0, *a0, *a0, *a0]
a2: &a2 [*a1, *a1, *a1, *a1, *a1, *a1, *a1, *a1, *a1, *a1]
a3: &a3 [*a2, *a2, *a2, *a2, *a2, *a2, *a2, *a2, *a2, *a2]
a4: &a4 [*a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3]
a5: &a5 [*a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4]
a6: [*a5, *a5, *a5, *a5, *a5, *a5, *a5, *a5, *a5, *a5]
`

// pick is one of what find gives, "" when there is nothing.
func pick(find func(...string) ([]string, error), rng *rand.Rand, below ...string) (string, error) {
	names, err := find(below...)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[rng.IntN(len(names))], nil
}

// onFile is an accident to the content of one file.
func onFile(change func(*rand.Rand, []byte) []byte) func(*Repository, *rand.Rand) (string, error) {
	return func(r *Repository, rng *rand.Rand) (string, error) {
		name, err := pick(r.files, rng, folders...)
		if name == "" || err != nil {
			return "", err
		}
		content, err := os.ReadFile(r.Path(name))
		if err != nil {
			return "", err
		}
		return name, os.WriteFile(r.Path(name), change(rng, content), 0o600)
	}
}

func insert(b []byte, at int, what []byte) []byte {
	return append(append(append([]byte{}, b[:at]...), what...), b[at:]...)
}

func conflict(rng *rand.Rand, b []byte) []byte {
	at := bytes.IndexByte(b[rng.IntN(len(b)+1):], '\n') + 1
	return insert(b, at, []byte("<<<<<<< HEAD\nx: 1\n=======\nx: 2\n>>>>>>> theirs\n"))
}

func lineLost(rng *rand.Rand, b []byte) []byte {
	lines := bytes.SplitAfter(b, []byte("\n"))
	i := rng.IntN(len(lines))
	return bytes.Join(append(lines[:i:i], lines[i+1:]...), nil)
}

// exchanged swaps the contents of two files of one folder's kind: members with members, values with
// values.
func exchanged(r *Repository, rng *rand.Rand) (string, error) {
	below := folders[rng.IntN(len(folders))]
	a, err := pick(r.files, rng, below)
	if a == "" || err != nil {
		return "", err
	}
	b, err := pick(r.files, rng, below)
	if err != nil {
		return "", err
	}
	first, err := os.ReadFile(r.Path(a))
	if err != nil {
		return "", err
	}
	second, err := os.ReadFile(r.Path(b))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(r.Path(a), second, 0o600); err != nil {
		return "", err
	}
	return path.Join(a) + " and " + b, os.WriteFile(r.Path(b), first, 0o600)
}

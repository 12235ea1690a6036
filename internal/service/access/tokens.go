package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/argosy-hub/argosy/internal/base/disk"
)

// Defaults of Options.
const (
	DefaultReload = time.Second
	DefaultRate   = 200
	DefaultBurst  = 1000
)

// Options name the token files. TokenFile is required; TokensDir is required with TokensFile.
type Options struct {
	// TokenFile holds the token that may query everything.
	TokenFile string
	// TokensFile declares tokens with their scopes. TokensDir is the folder of their values' files.
	TokensFile, TokensDir string
	// Reload is the time after which the files are checked again; default DefaultReload. A negative
	// one checks them at each use.
	Reload time.Duration
	// Rate is how many requests a second one token may make, after Burst requests at once; default
	// DefaultRate and DefaultBurst.
	Rate  float64
	Burst int
	Log   *slog.Logger
	// Rotated, if set, is called with the name of a token that has a new value.
	Rotated func(name string)
}

// Bearer is the client that presents a token, with the token's scope. A nil Bearer and one without
// a scope may do nothing.
type Bearer struct {
	// Name is the token's name, "" for the token of the token file.
	Name    string
	scope   *Scope
	limiter *rate.Limiter
}

// fullLabel is the Label of the token file's token.
const fullLabel = "token-file"

// Label returns the name of the token for log and errors.
func (b *Bearer) Label() string {
	switch {
	case b == nil:
		return ""
	case b.Name == "":
		return fullLabel
	}
	return b.Name
}

// value is one of the values that a token has now.
type value struct {
	hash   [sha256.Size]byte
	secret []byte // for signatures
	bearer *Bearer
}

// Tokens holds all valid tokens.
type Tokens struct {
	o    Options
	full *tokenFile
	root *Bearer

	mu       sync.Mutex
	looked   time.Time
	file     *disk.File[[]declared]
	bearers  map[string]*Bearer // by name
	contents map[string][]byte  // last valid content of each file in the folder
	values   []value            // the table
	problems []string           // of the last reading
	now      func() time.Time
}

// Open reads all tokens. All files must be valid; files of values may be missing.
func Open(o Options) (*Tokens, error) {
	t := &Tokens{o: o, now: time.Now, bearers: map[string]*Bearer{}, contents: map[string][]byte{}}
	if o.Log == nil {
		t.o.Log = slog.Default()
	}
	if o.Rotated == nil {
		t.o.Rotated = func(string) {}
	}
	if o.Reload == 0 {
		t.o.Reload = DefaultReload
	}
	if o.Rate == 0 {
		t.o.Rate = DefaultRate
	}
	if o.Burst == 0 {
		t.o.Burst = DefaultBurst
	}
	var err error
	if t.full, err = openTokenFile(o.TokenFile, t.o.Reload, t.o.Log, time.Now, func(string) { t.o.Rotated(fullLabel) }); err != nil {
		return nil, err
	}
	t.root = &Bearer{scope: &Scope{Routes: Routes}, limiter: t.newLimiter()}
	if o.TokensFile == "" {
		return t, nil
	}
	source := disk.Source{Kind: "tokens file", Path: o.TokensFile, Limit: maxTokensFile}
	t.file, err = disk.Open(disk.Options[[]declared]{Sources: []disk.Source{source}, Parse: func(contents [][]byte) ([]declared, error) {
		list, err := parse(o.TokensFile, contents[0])
		if err != nil {
			return nil, fmt.Errorf("tokens file %w", err)
		}
		return list, nil
	}})
	if err != nil {
		return nil, err
	}
	if problems := t.look(); len(problems) > 0 {
		return nil, errors.New(problems[0] + more(len(problems)-1))
	}
	return t, nil
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

func (t *Tokens) newLimiter() *rate.Limiter { return rate.NewLimiter(rate.Limit(t.o.Rate), t.o.Burst) }

// Find returns the bearer of a token, nil if no such token is declared.
func (t *Tokens) Find(presented string) *Bearer {
	hash := sha256.Sum256([]byte(presented))
	var found *Bearer
	for _, v := range t.table() { // all of them, so that the time reveals nothing
		if subtle.ConstantTimeCompare(v.hash[:], hash[:]) == 1 {
			found = v.bearer
		}
	}
	if t.full.is(hash, found != nil) {
		return t.root
	}
	return found
}

// Named returns the bearer of the declared token with a name, nil if there is none or it has no
// value. The token file's token has no name.
func (t *Tokens) Named(name string) *Bearer {
	for _, v := range t.table() {
		if name != "" && v.bearer.Name == name {
			return v.bearer
		}
	}
	return nil
}

// Signing returns the values that a webhook may be signed with, each with its bearer.
func (t *Tokens) Signing() (secrets [][]byte, bearers []*Bearer) {
	secrets, bearers = append(secrets, t.full.Current().value), append(bearers, t.root)
	for _, v := range t.table() {
		if v.bearer.Route(Webhook) == nil {
			secrets, bearers = append(secrets, v.secret), append(bearers, v.bearer)
		}
	}
	return secrets, bearers
}

// Problems returns why tokens differ from their files, nil if they do not.
func (t *Tokens) Problems() []string {
	t.table()
	t.mu.Lock()
	defer t.mu.Unlock()
	problems := slices.Clone(t.problems)
	t.full.Recent(t.full.age)
	if _, err := t.full.Last(); err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}

// table returns the valid values. It reads the files again once in a while.
func (t *Tokens) table() []value {
	if t.o.TokensFile == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); t.o.Reload < 0 || now.Sub(t.looked) >= t.o.Reload || now.Before(t.looked) {
		t.look()
	}
	return t.values
}

// look reads the tokens file and all values. An invalid file leaves its last valid content in use.
// The caller holds the lock, except in Open.
func (t *Tokens) look() (problems []string) {
	t.looked = t.now()
	if err := t.declare(); err != nil {
		problems = append(problems, err.Error())
	}
	content := t.remembered
	root, err := os.OpenRoot(t.o.TokensDir)
	if err != nil { // the files may still exist
		problems = append(problems, fmt.Sprintf("tokens folder %q: %v", t.o.TokensDir, disk.Cause(err)))
	} else {
		defer root.Close()
		content = func(path string) ([]byte, error) { return readIn(root, path) }
	}
	before := t.values
	bad, missing := t.read(content)
	problems = append(problems, bad...)
	problems = append(problems, t.separate(before)...)
	t.report(problems, missing, before)
	return problems
}

// remembered returns the last valid content of a file.
func (t *Tokens) remembered(path string) ([]byte, error) {
	if secret := t.contents[path]; secret != nil {
		return secret, nil
	}
	return nil, fs.ErrNotExist
}

// declare uses the tokens file if it has changed and is valid.
func (t *Tokens) declare() error {
	differs := t.file.Reload()
	list, err := t.file.Last()
	if first := len(t.bearers) == 0; err != nil || !differs && !first {
		return err
	}
	bearers := map[string]*Bearer{}
	for _, d := range list {
		b := &Bearer{Name: d.Name, scope: &d.Scope, limiter: t.newLimiter()}
		if old := t.bearers[d.Name]; old != nil {
			b.limiter = old.limiter // earlier requests still count
		}
		bearers[d.Name] = b
	}
	if differs {
		t.o.Log.Info("tokens file has been read again", "tokens", len(list))
	}
	t.bearers = bearers
	return nil
}

// read makes the table from the existing files. An invalid file counts with its last valid content.
func (t *Tokens) read(content func(path string) ([]byte, error)) (problems, missing []string) {
	contents := map[string][]byte{}
	t.values = nil
	list, _ := t.file.Last()
	for _, d := range list {
		n := len(contents)
		for _, path := range d.Files {
			secret, err := content(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // gone, and with it the value
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("token %q: file %q: %v", d.Name, path, err))
				if secret = t.contents[path]; secret == nil {
					continue
				}
			}
			contents[path] = secret
			t.add(secret, t.bearers[d.Name])
		}
		if len(contents) == n {
			missing = append(missing, fmt.Sprintf("token %q: none of its files can be used: %s", d.Name, strings.Join(d.Files, ", ")))
		}
	}
	t.contents = contents
	return problems, missing
}

// add puts a value into the table; a token's second copy of a value is left out.
func (t *Tokens) add(secret []byte, b *Bearer) {
	v := value{hash: sha256.Sum256(secret), secret: secret, bearer: b}
	if !slices.ContainsFunc(t.values, func(o value) bool { return o.hash == v.hash && o.bearer == b }) {
		t.values = append(t.values, v)
	}
}

func readIn(root *os.Root, path string) ([]byte, error) {
	info, err := root.Stat(path)
	if err != nil {
		return nil, disk.Cause(err)
	}
	if !info.Mode().IsRegular() { // before it is opened: a pipe would wait for its writer
		return nil, errors.New("it is no file")
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, disk.Cause(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return nil, disk.Cause(err)
	}
	return parseToken(data)
}

// separate removes values that two tokens share. The token that had such a value before keeps it,
// else neither has it. It also removes signing values beyond the bound.
func (t *Tokens) separate(before []value) (problems []string) {
	full := t.full.Current().hash
	had := func(v value) bool {
		return slices.ContainsFunc(before, func(o value) bool { return o.hash == v.hash && o.bearer.Name == v.bearer.Name })
	}
	var kept []value
	signing := 1
	for i, v := range t.values {
		same := func(o value) bool { return o.hash == v.hash }
		switch other := slices.IndexFunc(t.values, func(o value) bool { return same(o) && o.bearer != v.bearer }); {
		case v.hash == full:
			problems = append(problems, fmt.Sprintf("token %q has a value that the token file has too", v.bearer.Name))
			continue
		case other >= 0:
			if other > i {
				problems = append(problems, fmt.Sprintf("tokens %q and %q have the same value", v.bearer.Name, t.values[other].bearer.Name))
			}
			if !had(v) || slices.ContainsFunc(t.values, func(o value) bool { return same(o) && o.bearer != v.bearer && had(o) }) {
				continue
			}
		}
		if v.bearer.Route(Webhook) == nil {
			if signing++; signing > maxSigning {
				problems = append(problems, fmt.Sprintf("token %q: more than %d values are good for the route webhook", v.bearer.Name, maxSigning-1))
				continue
			}
		}
		kept = append(kept, v)
	}
	t.values = kept
	return problems
}

// report logs new problems and changed values.
func (t *Tokens) report(problems, missing []string, before []value) {
	for _, p := range problems {
		if !slices.Contains(t.problems, p) {
			t.o.Log.Error("tokens are not as their files say; what was good last stays", "error", p)
		}
	}
	for _, m := range missing {
		if !slices.Contains(t.problems, m) {
			t.o.Log.Warn("a token has no value", "problem", m)
		}
	}
	all := slices.Concat(problems, missing)
	if len(all) == 0 && len(t.problems) > 0 {
		t.o.Log.Info("tokens are as their files say again")
	}
	t.problems = all
	for _, name := range changed(before, t.values) {
		t.o.Log.Info("values of a token have changed", "token", name)
		t.o.Rotated(name)
	}
}

// changed returns the tokens whose values differ; nil if there were no values before.
func changed(before, now []value) (names []string) {
	if before == nil {
		return nil
	}
	has := func(list []value, v value) bool {
		return slices.ContainsFunc(list, func(o value) bool { return o.hash == v.hash && o.bearer.Name == v.bearer.Name })
	}
	for _, v := range now {
		if !has(before, v) {
			names = append(names, v.bearer.Name)
		}
	}
	for _, v := range before {
		if !has(now, v) {
			names = append(names, v.bearer.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

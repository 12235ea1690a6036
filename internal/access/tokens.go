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

	"github.com/argosy-hub/argosy/internal/reload"
)

// Defaults of Options, and the least length of a token of the tokens folder.
const (
	DefaultReload = time.Second
	DefaultRate   = 200
	DefaultBurst  = 1000
	MinToken      = 16
)

// Options say where tokens are. TokenFile is required, and TokensDir with TokensFile.
type Options struct {
	// TokenFile holds the token that may ask everything.
	TokenFile string
	// TokensFile declares tokens that may ask some things, TokensDir has the files with their values.
	TokensFile, TokensDir string
	// Reload is how long files are not looked at again, at most; default DefaultReload. A negative one looks at each use.
	Reload time.Duration
	// Rate and Burst are how many requests a second a token's bearer may make, and how many at once before that counts;
	// default DefaultRate and DefaultBurst.
	Rate  float64
	Burst int
	Log   *slog.Logger
}

// Grant is what the bearer of a token may do. Its zero value and nil may do nothing.
type Grant struct {
	// Name is the token's, "" for that of the token file.
	Name    string
	scope   *Scope // nil: everything
	limiter *rate.Limiter
}

// fullLabel is the Label of the token file's token.
const fullLabel = "token-file"

// Label is what log and metrics call the token.
func (g *Grant) Label() string {
	switch {
	case g == nil:
		return ""
	case g.Name == "":
		return fullLabel
	}
	return g.Name
}

// value is one of the values that a token has now.
type value struct {
	hash   [sha256.Size]byte
	secret []byte // for signatures
	grant  *Grant
}

// Tokens are all tokens that are good now.
type Tokens struct {
	o    Options
	full *tokenFile
	root *Grant

	mu       sync.Mutex
	looked   time.Time
	file     *reload.File[[]declared]
	grants   map[string]*Grant // by name
	contents map[string][]byte // of files in the folder, when each was good last
	values   []value           // the table
	problems []string          // of the last look
	now      func() time.Time
}

// Open reads all tokens; all have to be good now (rule 6).
func Open(o Options) (*Tokens, error) {
	t := &Tokens{o: o, now: time.Now, grants: map[string]*Grant{}, contents: map[string][]byte{}}
	if o.Log == nil {
		t.o.Log = slog.Default()
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
	if t.full, err = openTokenFile(o.TokenFile, t.o.Reload, t.o.Log, time.Now); err != nil {
		return nil, err
	}
	t.root = &Grant{limiter: t.newLimiter()}
	if n := len(t.full.Current().value); n < MinToken {
		t.o.Log.Warn("the token of the token file is short and can be guessed", "characters", n, "expected", MinToken)
	}
	if o.TokensFile == "" {
		return t, nil
	}
	source := reload.Source{Kind: "tokens file", Path: o.TokensFile, Limit: maxTokensFile}
	t.file, err = reload.Open(reload.Options[[]declared]{Sources: []reload.Source{source}, Parse: func(contents [][]byte) ([]declared, error) {
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

// Find is what the bearer of a token may do, nil if nobody knows the token.
func (t *Tokens) Find(presented string) *Grant {
	hash := sha256.Sum256([]byte(presented))
	var found *Grant
	for _, v := range t.table() { // all of them: how long it takes tells nothing (rule 7)
		if subtle.ConstantTimeCompare(v.hash[:], hash[:]) == 1 {
			found = v.grant
		}
	}
	if t.full.is(hash, found != nil) {
		return t.root
	}
	return found
}

// Signing are the values that a webhook's signature may have been made with, each with what its bearer may do.
func (t *Tokens) Signing() (secrets [][]byte, grants []*Grant) {
	secrets, grants = append(secrets, t.full.Current().value), append(grants, t.root)
	for _, v := range t.table() {
		if v.grant.Route(Webhook) == nil {
			secrets, grants = append(secrets, v.secret), append(grants, v.grant)
		}
	}
	return secrets, grants
}

// Problems are why tokens are not as their files say now, nil if they are.
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

// table is what is good now, looked up again once in a while.
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

// look reads the tokens file and all values. What is wrong changes as little as can be (rule 6). The caller holds the
// lock, if there is anybody else.
func (t *Tokens) look() (problems []string) {
	t.looked = t.now()
	if err := t.declare(); err != nil {
		problems = append(problems, err.Error())
	}
	content := t.remembered
	root, err := os.OpenRoot(t.o.TokensDir)
	if err != nil { // nothing is gone as long as it cannot be seen
		problems = append(problems, fmt.Sprintf("tokens folder %q: %v", t.o.TokensDir, reload.Cause(err)))
	} else {
		defer root.Close()
		content = func(path string) ([]byte, error) { return readIn(root, path) }
	}
	before := t.values
	bad, missing := t.read(content)
	problems = append(problems, bad...)
	problems = append(problems, t.apart(before)...)
	t.tell(problems, missing, before)
	return problems
}

// remembered is the last good content of a file.
func (t *Tokens) remembered(path string) ([]byte, error) {
	if secret := t.contents[path]; secret != nil {
		return secret, nil
	}
	return nil, fs.ErrNotExist
}

// declare takes in the tokens file, if it is another and good.
func (t *Tokens) declare() error {
	differs := t.file.Reload()
	list, err := t.file.Last()
	if first := len(t.grants) == 0; err != nil || !differs && !first {
		return err
	}
	grants := map[string]*Grant{}
	for _, d := range list {
		g := &Grant{Name: d.name, scope: &d.scope, limiter: t.newLimiter()}
		if old := t.grants[d.name]; old != nil {
			g.limiter = old.limiter // what has been asked stays asked
		}
		grants[d.name] = g
	}
	if differs {
		t.o.Log.Info("tokens file has been read again", "tokens", len(list))
	}
	t.grants = grants
	return nil
}

// read makes the table of the files that are there. A bad one counts as what it was when it was good.
func (t *Tokens) read(content func(path string) ([]byte, error)) (problems, missing []string) {
	contents := map[string][]byte{}
	t.values = nil
	list, _ := t.file.Last()
	for _, d := range list {
		n := len(contents)
		for _, path := range d.files {
			secret, err := content(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // gone, and with it the value (rule 5)
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("token %q: file %q: %v", d.name, path, err))
				if secret = t.contents[path]; secret == nil {
					continue
				}
			}
			contents[path] = secret
			t.add(secret, t.grants[d.name])
		}
		if len(contents) == n {
			missing = append(missing, fmt.Sprintf("token %q: none of its files can be used: %s", d.name, strings.Join(d.files, ", ")))
		}
	}
	t.contents = contents
	return problems, missing
}

// add puts a value into the table; one that a token has twice counts once.
func (t *Tokens) add(secret []byte, g *Grant) {
	v := value{hash: sha256.Sum256(secret), secret: secret, grant: g}
	if !slices.ContainsFunc(t.values, func(o value) bool { return o.hash == v.hash && o.grant == g }) {
		t.values = append(t.values, v)
	}
}

func readIn(root *os.Root, path string) ([]byte, error) {
	info, err := root.Stat(path)
	if err != nil {
		return nil, reload.Cause(err)
	}
	if !info.Mode().IsRegular() { // before it is opened: a pipe would wait for its writer
		return nil, errors.New("it is no file")
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, reload.Cause(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return nil, reload.Cause(err)
	}
	secret, err := parseToken(data)
	if err == nil && len(secret) < MinToken {
		return nil, fmt.Errorf("%d characters; expected at least %d", len(secret), MinToken)
	}
	return secret, err
}

// apart takes values out that two tokens have: such a value stays with the token that had it before, else it is good for
// neither (rule 6). Signing values beyond the bound are taken out too.
func (t *Tokens) apart(before []value) (problems []string) {
	full := t.full.Current().hash
	had := func(v value) bool {
		return slices.ContainsFunc(before, func(o value) bool { return o.hash == v.hash && o.grant.Name == v.grant.Name })
	}
	var kept []value
	signing := 1
	for i, v := range t.values {
		same := func(o value) bool { return o.hash == v.hash }
		switch other := slices.IndexFunc(t.values, func(o value) bool { return same(o) && o.grant != v.grant }); {
		case v.hash == full:
			problems = append(problems, fmt.Sprintf("token %q has a value that the token file has too", v.grant.Name))
			continue
		case other >= 0:
			if other > i {
				problems = append(problems, fmt.Sprintf("tokens %q and %q have the same value", v.grant.Name, t.values[other].grant.Name))
			}
			if !had(v) || slices.ContainsFunc(t.values, func(o value) bool { return same(o) && o.grant != v.grant && had(o) }) {
				continue
			}
		}
		if v.grant.Route(Webhook) == nil {
			if signing++; signing > maxSigning {
				problems = append(problems, fmt.Sprintf("token %q: more than %d values are good for the route webhook", v.grant.Name, maxSigning-1))
				continue
			}
		}
		kept = append(kept, v)
	}
	t.values = kept
	return problems
}

// tell logs what is new.
func (t *Tokens) tell(problems, missing []string, before []value) {
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
	}
}

// changed are the tokens whose values are others now, where there were any before.
func changed(before, now []value) (names []string) {
	if before == nil {
		return nil
	}
	has := func(list []value, v value) bool {
		return slices.ContainsFunc(list, func(o value) bool { return o.hash == v.hash && o.grant.Name == v.grant.Name })
	}
	for _, v := range now {
		if !has(before, v) {
			names = append(names, v.grant.Name)
		}
	}
	for _, v := range before {
		if !has(now, v) {
			names = append(names, v.grant.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

package hierarchy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/budget"
)

// Cache remembers parsed documents and templates by path and content, so that a new snapshot costs
// only what changed. Several goroutines may use it.
//
// A document with duplicate keys is an error, unless the Cache is Lenient.
type Cache struct {
	*documents
	lenient bool
}

// documents has what a Cache and its lenient twin share.
type documents struct {
	mu        sync.RWMutex
	docs      *bounded[parsed]
	templates *bounded[compiled]
	rendered  *bounded[parsed]
	executed  *bounded[executed]
	large     sync.Mutex // held while a large document is parsed
	steps     atomic.Int64
}

// Limits of what is remembered, in bytes. A tenant's files may be many; parsed, they take up to a
// hundred times their size. Templates may write different ones for each of its clusters at each
// commit.
const (
	maxDocs      = 512 << 20
	maxTemplates = 64 << 20
	maxRendered  = 128 << 20
	maxExecuted  = 64 << 20
)

// Large is the size in bytes from which documents are parsed one after another: while one is parsed
// it takes up to a hundred and fifty times its size.
const Large = 128 << 10

// memoryOfTemplate is about how many bytes each byte of a parsed template takes.
const memoryOfTemplate = 40

type cacheKey struct{ path, digest string }

// parsed is a document, or why it cannot be read. It has the number of its values, the bytes of
// their texts, and the bytes of all values as YAML.
type parsed struct {
	doc         *yamldoc.Doc
	err         error
	nodes, text int
	written     int
}

type compiled struct {
	t   *tmpl.Template
	err error
}

// executed is the result of a template, with the digest of its text and lines.
type executed struct {
	out    tmpl.Output
	err    error
	digest string
}

// NewCache makes an empty cache.
func NewCache() *Cache {
	return &Cache{documents: &documents{
		docs:      newBounded[parsed](budget.MemoryShare(maxDocs, 6)),
		templates: newBounded[compiled](budget.MemoryShare(maxTemplates, 2)),
		rendered:  newBounded[parsed](budget.MemoryShare(maxRendered, 3)),
		executed:  newBounded[executed](budget.MemoryShare(maxExecuted, 2)),
	}}
}

// Lenient returns the Cache with the same documents that accepts duplicate keys or does not. The
// last of duplicate keys wins, as in Helm 3.
func (c *Cache) Lenient(on bool) *Cache { return &Cache{documents: c.documents, lenient: on} }

// Doc parses the file's content. Errors are those of yamldoc.Parse, or the file's own.
func (c *Cache) Doc(f *snapshot.File) (*yamldoc.Doc, error) {
	p, err := c.read(f)
	return p.doc, err
}

// Nodes returns how many values a file has; the values of an alias count each time it is used. A
// file that cannot be parsed counts as the limit of a document: the parser may have read as much.
func (c *Cache) Nodes(f *snapshot.File) int {
	if p, err := c.read(f); err == nil || p.nodes > 0 {
		return p.nodes
	}
	return yamldoc.MaxNodes
}

// read is Doc with the document's size.
func (c *Cache) read(f *snapshot.File) (parsed, error) {
	if f.Err != nil {
		return parsed{}, f.Err
	}
	return parse(c, c.docs, cacheKey{f.Path, f.Digest}, f.Data, nil)
}

// parse parses a file's content, or takes the document from the cache. Lines are as in
// yamldoc.ParseLines. A document with duplicate keys has its size beside the error.
func parse[T string | []byte](c *Cache, in *bounded[parsed], key cacheKey, data T, lines []int) (parsed, error) {
	p, ok := c.known(in, key)
	if !ok && len(data) >= Large {
		c.large.Lock()
		defer c.large.Unlock()
		p, ok = c.known(in, key)
	}
	if !ok {
		if p.doc, p.err = yamldoc.ParseLenient(key.path, []byte(data), lines); p.doc != nil {
			p.nodes, p.text = p.doc.Root.Size()
			p.written = p.doc.Root.WrittenSize()
		}
		c.mu.Lock()
		if first, ok := in.entries[key]; ok {
			p = first.value // documents are compared by identity: all callers get the same one
		} else {
			in.put(key, p, (1+p.nodes)*yamldoc.NodeMemory+p.text+len(data))
		}
		c.mu.Unlock()
	}
	if p.err == nil && !c.lenient {
		p.err = p.doc.DuplicateErrors()
	}
	if p.err != nil {
		p.doc = nil
	}
	return p, p.err
}

// known returns a document from the cache.
func (c *Cache) known(in *bounded[parsed], key cacheKey) (parsed, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	known, ok := in.entries[key]
	return known.value, ok
}

// cost returns what reading a document costs.
func (p parsed) cost() budget.Cost { return budget.Cost{budget.Steps: p.nodes, budget.Text: p.written} }

// render executes a template file with the facts and parses the result. It also returns the cost,
// even with an error. Places in the document are lines of the template.
func (c *Cache) render(f *snapshot.File, facts any) (_ parsed, cost budget.Cost, _ error) {
	if f.Err != nil {
		return parsed{}, cost, f.Err
	}
	t := c.template(f)
	if t.err != nil {
		cost[budget.Steps] = tmpl.Parsing(string(f.Data))
		return parsed{}, cost, t.err
	}
	e := c.execute(t.t, func() executed {
		out, err := t.t.ExecuteLines(facts)
		sum := sha256.Sum256(fmt.Append([]byte(out.Text), out.Lines))
		return executed{out, err, hex.EncodeToString(sum[:16])}
	}, facts)
	cost[budget.Steps] = e.out.Steps
	if e.err != nil {
		return parsed{}, cost, e.err
	}
	cost[budget.Written] = len(e.out.Text)
	p, err := parse(c, c.rendered, cacheKey{f.Path, e.digest}, e.out.Text, e.out.Lines)
	cost[budget.Steps] += p.nodes
	cost[budget.Text] = p.written
	return p, cost, err
}

// Execute executes a template, only once for the same facts if that takes long.
func (c *Cache) Execute(t *tmpl.Template, facts any) (tmpl.Output, error) {
	e := c.execute(t, func() (e executed) {
		e.out, e.err = t.ExecuteCounted(facts)
		return e
	}, facts)
	return e.out, e.err
}

// execute remembers executions that take long, also failed ones: a tenant beyond its limits is
// found without doing the work again.
func (c *Cache) execute(t *tmpl.Template, run func() executed, facts any) executed {
	key, isDear := t.Key(facts)
	if isDear {
		c.mu.RLock()
		known, ok := c.executed.entries[cacheKey{digest: key}]
		c.mu.RUnlock()
		if ok {
			return known.value
		}
	}
	e := run()
	c.steps.Add(int64(e.out.Steps))
	if !isDear {
		key, isDear = t.Key(facts)
	}
	if isDear {
		const besides = 1 << 10 // an error, and the rest of an entry
		c.mu.Lock()
		defer c.mu.Unlock()
		if key := (cacheKey{digest: key}); c.executed.entries[key].bytes == 0 {
			c.executed.put(key, e, len(e.out.Text)+8*len(e.out.Lines)+besides)
		}
	}
	return e
}

// Steps returns how many steps all executions have taken, without remembered ones.
func (c *Cache) Steps() int64 { return c.steps.Load() }

// template parses a template file, or takes it from the cache.
func (c *Cache) template(f *snapshot.File) compiled {
	key := cacheKey{f.Path, f.Digest}
	c.mu.RLock()
	known, ok := c.templates.entries[key]
	c.mu.RUnlock()
	if ok {
		return known.value
	}
	var t compiled
	t.t, t.err = tmpl.Parse(problem.Pos{File: f.Path}, string(f.Data))
	c.mu.Lock()
	defer c.mu.Unlock()
	if first, ok := c.templates.entries[key]; ok {
		return first.value
	}
	c.templates.put(key, t, memoryOfTemplate*len(f.Data))
	return t
}

// Trim forgets files that are not in the snapshot, once they are the larger part of the cache.
func (c *Cache) Trim(s *snapshot.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.docs.trim(s)
	c.templates.trim(s)
}

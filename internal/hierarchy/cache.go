package hierarchy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/tmpl"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Cache remembers parsed documents and templates by path and content, so that a new snapshot costs
// what changed. It may be used by several goroutines.
//
// A document with duplicate keys is an error, unless the Cache is Lenient.
type Cache struct {
	*documents
	lenient bool
}

// documents are what a Cache and its lenient twin share.
type documents struct {
	mu        sync.RWMutex
	docs      map[cacheKey]parsed
	templates map[cacheKey]compiled
	rendered  map[cacheKey]parsed
	// bytes is an estimate of what the rendered documents take, limit its bound.
	bytes, limit int
}

// maxRendered bounds the documents that templates have written, in bytes: a tenant's templates may
// write others for each of its clusters, and at each commit. A full cache is emptied, which costs
// time and nothing else.
const maxRendered = 128 << 20

type cacheKey struct{ path, digest string }

type parsed struct {
	doc *yamldoc.Doc
	err error
}

type compiled struct {
	t   *tmpl.Template
	err error
}

// NewCache makes an empty cache.
func NewCache() *Cache {
	return &Cache{documents: &documents{docs: map[cacheKey]parsed{}, templates: map[cacheKey]compiled{}, rendered: map[cacheKey]parsed{}, limit: maxRendered}}
}

// Lenient returns the Cache with the same documents that accepts duplicate keys or does not. The
// last of duplicate keys wins, as in Helm 3 (H9).
func (c *Cache) Lenient(on bool) *Cache { return &Cache{documents: c.documents, lenient: on} }

// Doc parses the file's content. Errors are those of yamldoc.Parse and of the file itself.
func (c *Cache) Doc(f *snapshot.File) (*yamldoc.Doc, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	return c.parse(c.docs, cacheKey{f.Path, f.Digest}, f.Data, nil, false)
}

// parse parses a file's content, or takes the document from the cache. Lines are those of
// yamldoc.ParseLines.
func (c *Cache) parse(in map[cacheKey]parsed, key cacheKey, data []byte, lines []int, rendered bool) (*yamldoc.Doc, error) {
	c.mu.RLock()
	p, ok := in[key]
	c.mu.RUnlock()
	if !ok {
		p.doc, p.err = yamldoc.ParseLenient(key.path, data, lines)
		c.mu.Lock()
		if first, ok := in[key]; ok {
			p = first // documents are compared by identity: all callers get the same one
		} else if rendered {
			c.spend(len(data) + p.memory())
		}
		in[key] = p
		c.mu.Unlock()
	}
	if p.err == nil && !c.lenient {
		p.err = p.doc.DuplicateErrors()
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.doc, nil
}

// memory estimates what a document takes, in bytes.
func (p parsed) memory() int {
	if p.doc == nil {
		return yamldoc.NodeMemory // of the error
	}
	return p.doc.Root.Memory()
}

// spend counts the bytes of a rendered document before it is remembered. The caller holds the lock.
func (c *Cache) spend(bytes int) {
	if c.bytes += bytes; c.bytes > c.limit {
		clear(c.rendered)
		c.bytes = bytes
	}
}

// Rendered executes a template file with the facts and parses the result; it also returns the size
// of the text in bytes. Places in the document are lines of the template.
func (c *Cache) Rendered(f *snapshot.File, facts any) (_ *yamldoc.Doc, size int, _ error) {
	if f.Err != nil {
		return nil, 0, f.Err
	}
	key := cacheKey{f.Path, f.Digest}
	c.mu.RLock()
	t, ok := c.templates[key]
	c.mu.RUnlock()
	if !ok {
		t.t, t.err = tmpl.Parse(problem.Pos{File: f.Path}, string(f.Data))
		c.mu.Lock()
		c.templates[key] = t
		c.mu.Unlock()
	}
	if t.err != nil {
		return nil, 0, t.err
	}
	text, lines, err := t.t.ExecuteLines(facts)
	if err != nil {
		return nil, 0, err
	}
	sum := sha256.Sum256(fmt.Append([]byte(text), lines))
	doc, err := c.parse(c.rendered, cacheKey{f.Path, hex.EncodeToString(sum[:16])}, []byte(text), lines, true)
	return doc, len(text), err
}

// Trim forgets files that are not in the snapshot, once they are the larger part of the cache.
func (c *Cache) Trim(s *snapshot.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := func(k cacheKey) bool {
		f := s.File(k.path)
		return f != nil && f.Digest == k.digest
	}
	if len(c.docs) > 2*s.Len()+1000 {
		for k := range c.docs {
			if !keep(k) {
				delete(c.docs, k)
			}
		}
	}
	if len(c.templates) > 2*s.Len()+1000 {
		for k := range c.templates {
			if !keep(k) {
				delete(c.templates, k)
			}
		}
	}
}

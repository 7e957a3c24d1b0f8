package requestpage

import (
	"slices"
	"strings"
	"sync"

	"github.com/petstore/petstore-go/fake"
)

// MaxKeys bounds the keys that there are, since the fake never forgets one.
const MaxKeys = 10_000

// Keybook gives every API key an id, so that a key itself is needed in no URL, answer or log. It is
// safe for concurrent use.
type Keybook struct {
	mu      sync.RWMutex
	keys    []string // keys[id-1]
	ids     map[string]int
	numbers map[int]int // the fake's number of a key → its id
	revoked map[int]bool
	redact  *strings.Replacer
}

// NewKeybook returns a book with one key, whose id is 1.
func NewKeybook(key string) *Keybook {
	b := &Keybook{
		ids: make(map[string]int), numbers: make(map[int]int), revoked: make(map[int]bool),
	}
	b.Add(key)
	return b
}

// Add returns the id of a key, 0 if there is no room for it. A revoked key is valid again.
func (b *Keybook) Add(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, known := b.ids[key]
	switch {
	case known:
		delete(b.revoked, id)
		return id
	case len(b.keys) == MaxKeys:
		return 0
	}
	b.keys = append(b.keys, key)
	b.ids[key] = len(b.keys)
	b.redact = newRedactor(b.keys)
	return len(b.keys)
}

// Number notes by which number the fake's journal names a key.
func (b *Keybook) Number(id, number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.numbers[number] = id
}

// ByNumber returns the key that the fake's journal names by a number, with its id; 0 for none.
func (b *Keybook) ByNumber(number int) (id int, key string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if id = b.numbers[number]; id == 0 {
		return 0, ""
	}
	return id, b.keys[id-1]
}

// Revoke records that a key is revoked.
func (b *Keybook) Revoke(id int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revoked[id] = true
}

// Find returns the key of an id.
func (b *Keybook) Find(id int64) (key string, revoked, ok bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if id < 1 || id > int64(len(b.keys)) {
		return "", false, false
	}
	return b.keys[id-1], b.revoked[int(id)], true
}

// ID returns the id of a key, 0 if there is no such key.
func (b *Keybook) ID(key string) int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.ids[key]
}

// Len returns the number of keys.
func (b *Keybook) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.keys)
}

// Redact returns a text without any key of the book.
func (b *Keybook) Redact(text string) string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.redact.Replace(text)
}

// newRedactor replaces keys, the longest first: a key that begins like another would otherwise leave
// the rest of that one behind.
func newRedactor(keys []string) *strings.Replacer {
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, key := range sorted {
		pairs = append(pairs, key, Redacted)
	}
	return strings.NewReplacer(pairs...)
}

// Redacted stands where a key was.
const Redacted = "[redacted]"

// MaskKey returns what is shown of a key: enough to recognise it by, too little to use it. The default
// key stands in the documentation.
func MaskKey(key string) string {
	const shown, long = 3, 12
	switch {
	case key == fake.DefaultAPIKey:
		return key
	case len(key) < long:
		return "…"
	}
	return key[:shown] + "…"
}

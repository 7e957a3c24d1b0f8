package main

import (
	"slices"
	"strings"
	"sync"

	"github.com/petstore/petstore-go/fake"
)

// maxKeys bounds the keys that there are, since the fake never forgets one.
const maxKeys = 10_000

// keybook gives every API key an id, so that a key itself is needed in no URL, answer or log. It is
// safe for concurrent use.
type keybook struct {
	mu      sync.RWMutex
	keys    []string // keys[id-1]
	ids     map[string]int
	numbers map[int]int // the fake's number of a key → its id
	revoked map[int]bool
	redact  *strings.Replacer
}

func newKeybook(key string) *keybook {
	b := &keybook{
		ids: make(map[string]int), numbers: make(map[int]int), revoked: make(map[int]bool),
	}
	b.add(key)
	return b
}

// add returns the id of a key, 0 if there is no room for it. A revoked key is valid again.
func (b *keybook) add(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, known := b.ids[key]
	switch {
	case known:
		delete(b.revoked, id)
		return id
	case len(b.keys) == maxKeys:
		return 0
	}
	b.keys = append(b.keys, key)
	b.ids[key] = len(b.keys)
	b.redact = newRedactor(b.keys)
	return len(b.keys)
}

// number notes by which number the fake's journal names a key.
func (b *keybook) number(id, number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.numbers[number] = id
}

// byNumber returns the key that the fake's journal names by a number, with its id; 0 for none.
func (b *keybook) byNumber(number int) (id int, key string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if id = b.numbers[number]; id == 0 {
		return 0, ""
	}
	return id, b.keys[id-1]
}

func (b *keybook) revoke(id int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revoked[id] = true
}

// find returns the key of an id.
func (b *keybook) find(id int64) (key string, revoked, ok bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if id < 1 || id > int64(len(b.keys)) {
		return "", false, false
	}
	return b.keys[id-1], b.revoked[int(id)], true
}

// id returns the id of a key, 0 if there is no such key.
func (b *keybook) id(key string) int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.ids[key]
}

func (b *keybook) len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.keys)
}

// redacted returns a text without any key of the book.
func (b *keybook) redacted(text string) string {
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
		pairs = append(pairs, key, redacted)
	}
	return strings.NewReplacer(pairs...)
}

// redacted stands where a key was.
const redacted = "[redacted]"

// maskKey returns what is shown of a key: enough to recognise it by, too little to use it. The default
// key stands in the documentation.
func maskKey(key string) string {
	const shown, long = 3, 12
	switch {
	case key == fake.DefaultAPIKey:
		return key
	case len(key) < long:
		return "…"
	}
	return key[:shown] + "…"
}

package fake

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/petstore/petstore-go/internal/redact"
)

// The bounds of the journal: requests, and the bytes that they take.
const (
	defaultJournal  = 10_000
	maxJournalBytes = 64 << 20
)

// entry is a Request as the journal keeps it: with the keys, which are taken out when it is read,
// and without what follows from the response. No byte of a body is ever changed in place.
type entry struct {
	Request

	reply    response // the zero response until there is one; its body is what was sent
	size     int      // bytes of memory, roughly
	redacted [2]int   // how many of the server's keys were taken out of the body, and of the reply's
}

// journal keeps the last requests, and the violations.
type journal struct {
	mu         sync.Mutex
	limit      int
	seq        int
	bytes      int
	entries    []*entry
	violations []Violation
	arrival    *sync.Cond // of a request; unlike a channel, it may wake goroutines of several bubbles
}

func (j *journal) reset(limit int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limit, j.seq, j.bytes, j.entries, j.violations = limit, 0, 0, nil, nil
}

// add enters a request that has arrived whole.
func (j *journal) add(e *entry) {
	e.size = sizeOf(e)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	j.arrival.Broadcast()
	j.entries = append(j.entries, e)
	j.bytes += e.size
	j.trim()
}

// finish adds the response to an entry. One that was dropped meanwhile takes it too, and is not
// counted.
func (j *journal) finish(e *entry, a *response) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Duration, e.reply, e.redacted[1] = a.now.Sub(e.Time), *a, 0
	e.reply.body = a.payload()
	if !a.sent() {
		e.reply.status, e.reply.body = 0, nil
	}
	if slices.Contains(j.find(e.Seq), e) {
		size := len(e.reply.body) + len(e.reply.hint)
		e.size += size
		j.bytes += size
		j.trim()
	}
}

// sizeOf returns roughly how many bytes of memory an entry takes that has no response yet.
func sizeOf(e *entry) int {
	const (
		fixed = 512 // the entry itself
		field = 64  // of a header, without its text
	)
	n := fixed + len(e.Path) + len(e.Body)
	for name, values := range e.Header {
		n += len(name)
		for _, v := range values {
			n += field + len(v)
		}
	}
	return n
}

// find returns the entry of a request, an empty list if it is not in the journal. The caller holds
// mu.
func (j *journal) find(seq int) []*entry {
	i := seq - (j.seq - len(j.entries) + 1) // the entries are the last ones, without gaps
	if i < 0 || i >= len(j.entries) {
		return nil
	}
	return j.entries[i : i+1]
}

// clear drops all entries and counts on.
func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bytes, j.entries = 0, nil
}

// trim drops the oldest entries beyond the bounds.
func (j *journal) trim() {
	for len(j.entries) > 0 && (len(j.entries) > j.limit || j.bytes > maxJournalBytes) {
		j.bytes -= j.entries[0].size
		j.entries[0] = nil
		j.entries = j.entries[1:]
	}
}

// withoutCredentials copies a header without the credentials in it.
func withoutCredentials(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"Authorization", "Proxy-Authorization"} {
		for i, v := range h[name] {
			h[name][i] = redactCredential(v)
		}
	}
	return h
}

// redactCredential leaves the scheme, which tests look at, unless there may be a key in its place.
func redactCredential(v string) string {
	if scheme, _, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return scheme + " " + redact.Mark
	}
	return redact.Mark
}

// redactor takes keys out of what the journal returns. Keys shorter than redact.MinKey stay where
// they are outside Authorization: a key "pro" would tear holes into words, and keeps no secret.
type redactor []string

func (r redactor) text(s string) string { return redact.Text(s, r...) }

// piece is how many bytes of a body are searched, or written, at a time, roughly.
const piece = 32 << 10

// bytes returns b without keys: b itself if there is none in it.
func (r redactor) bytes(b []byte) []byte {
	var clean []byte // nil until a key was found
	for from := 0; from < len(b); {
		to := min(from+piece, len(b))
		for to < len(b) && b[to] > ' ' { // no key has a space, and no escape
			to++
		}
		found := string(b[from:to])
		text := r.text(found)
		if text != found && clean == nil {
			clean = bytes.Clone(b[:from])
		}
		if clean != nil {
			clean = append(clean, text...)
		}
		from = to
	}
	if clean == nil {
		return b
	}
	return clean
}

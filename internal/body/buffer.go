// Package body reads the body of a response: into memory up to a limit, and as JSON.
package body

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// usualSize is the size of a new buffer if the length is unknown: a list of 100 pets fits,
	// which most servers send without a Content-Length.
	usualSize = 16 << 10
	// maxPooled is the capacity of the largest buffer that goes back to the pool, so that one long
	// response does not keep its memory for ever.
	maxPooled = 256 << 10
	// maxTrusted is the longest Content-Length for which memory is taken at once.
	maxTrusted = 10 << 20
)

// Buffer holds the body of one response and decodes it. Results and errors get copies, so that the
// Buffer can be used again.
type Buffer struct {
	Bytes   []byte // the body, or its start if it is too large
	source  bytes.Buffer
	decoder jsontext.Decoder
}

// Open returns a decoder of the body, to be used until the next call of Open.
func (b *Buffer) Open() *jsontext.Decoder {
	b.source = *bytes.NewBuffer(b.Bytes) // the decoder does not copy a bytes.Buffer
	b.decoder.Reset(&b.source)
	return &b.decoder
}

// Pool keeps the buffers of one client for its next calls.
type Pool struct{ pool sync.Pool }

// Get returns an empty buffer, or one to be used again.
func (p *Pool) Get() *Buffer {
	if b, ok := p.pool.Get().(*Buffer); ok {
		return b
	}
	return new(Buffer)
}

// Put takes a buffer back, which must not be used afterwards; nil has no effect.
func (p *Pool) Put(b *Buffer) {
	if b != nil && cap(b.Bytes) <= maxPooled {
		p.pool.Put(b)
	}
}

// Fill reads r to its end, but hardly more than most bytes. length is the Content-Length, negative
// if unknown. Fill reports whether the body is longer than most; then the buffer keeps the first
// bytes.
func (b *Buffer) Fill(r io.Reader, length, most int64) (tooLarge bool, err error) {
	// A server may announce any length: memory for a long one is taken only as the bytes arrive.
	if length < 0 || length > min(most, maxTrusted) {
		length = usualSize - 1
	}
	b.Bytes = slices.Grow(b.Bytes[:0], int(length)+1) // one byte more, to see the end
	for err == nil && int64(len(b.Bytes)) <= most {
		size := len(b.Bytes)
		if size == cap(b.Bytes) {
			b.Bytes = slices.Grow(b.Bytes, int(min(int64(size), most-int64(size)+1)))
		}
		var n int
		n, err = r.Read(b.Bytes[size:cap(b.Bytes)])
		b.Bytes = b.Bytes[:size+n]
	}
	if err == io.EOF {
		err = nil
	}
	tooLarge = int64(len(b.Bytes)) > most
	if tooLarge {
		b.Bytes = b.Bytes[:most]
	}
	return tooLarge, err
}

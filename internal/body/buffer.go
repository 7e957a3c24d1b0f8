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
	// which most servers send without a Content-Length. One byte more, to see the end, makes 16
	// KiB.
	usualSize = 16<<10 - 1
	// pieceSize is the size of each further piece of a longer body: large enough that 10 MiB take
	// 40 pieces, small enough that an unused rest of the last one does not matter.
	pieceSize = 256 << 10
	// maxPooled is the capacity of the largest buffer that goes back to the pool, so that one long
	// response does not keep its memory for ever.
	maxPooled = 256 << 10
	// maxTrusted is the longest Content-Length for which memory is taken at once.
	maxTrusted = 10 << 20
)

// Buffer holds the body of one response and decodes it. Results and errors get copies, so that the
// Buffer can be used again.
type Buffer struct {
	Bytes   []byte   // the body, or its start if it is long
	rest    [][]byte // of a long body, in pieces
	source  bytes.Buffer
	decoder jsontext.Decoder
}

// Size returns the length of the whole body.
func (b *Buffer) Size() int {
	n := len(b.Bytes)
	for _, piece := range b.rest {
		n += len(piece)
	}
	return n
}

// Whole returns a copy of the whole body.
func (b *Buffer) Whole() []byte { return slices.Concat(append([][]byte{b.Bytes}, b.rest...)...) }

// Open returns a decoder of the body, to be used until the next call of Open.
func (b *Buffer) Open() *jsontext.Decoder { return b.open(b.Bytes, b.rest...) }

// open returns a decoder of body and rest.
func (b *Buffer) open(body []byte, rest ...[]byte) *jsontext.Decoder {
	b.source = *bytes.NewBuffer(body) // the decoder does not copy a bytes.Buffer
	if len(rest) == 0 {
		b.decoder.Reset(&b.source)
		return &b.decoder
	}
	readers := []io.Reader{&b.source}
	for _, piece := range rest {
		readers = append(readers, bytes.NewReader(piece))
	}
	b.decoder.Reset(io.MultiReader(readers...))
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
// bytes. It reads a long body in pieces, because one growing buffer would take three times the
// body's size. It joins only as many pieces as an Error object may have.
func (b *Buffer) Fill(r io.Reader, length, most int64) (tooLarge bool, err error) {
	// A server may announce any length: memory for a long one is taken only as the bytes arrive.
	if length < 0 || length > min(most, maxTrusted) {
		length = usualSize
	}
	b.Bytes, b.rest = slices.Grow(b.Bytes[:0], int(length)+1), nil // one byte more, to see the end
	end, err := readInto(r, &b.Bytes)
	size := int64(len(b.Bytes))
	var pieces [][]byte
	for !end && size <= most {
		piece := make([]byte, 0, pieceSize)
		end, err = readInto(r, &piece)
		size += int64(len(piece))
		pieces = append(pieces, piece)
	}
	switch {
	case size > most:
		b.Bytes = b.Bytes[:min(int64(len(b.Bytes)), most)]
		return true, err
	case pieces != nil:
		n := min(len(pieces), maxErrorObject/pieceSize)
		b.Bytes = slices.Concat(append([][]byte{b.Bytes}, pieces[:n]...)...)
		b.rest = pieces[n:]
	}
	return false, err
}

// readInto reads until b is full, and reports whether r has ended or failed.
func readInto(r io.Reader, b *[]byte) (end bool, err error) {
	for len(*b) < cap(*b) {
		n, err := r.Read((*b)[len(*b):cap(*b)])
		*b = (*b)[:len(*b)+n]
		switch err {
		case nil:
		case io.EOF:
			return true, nil
		default:
			return true, err
		}
	}
	return false, nil
}

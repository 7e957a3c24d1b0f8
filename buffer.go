package petstore

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// usualSize holds a list of 100 pets, which most servers send without a Content-Length.
	usualSize = 16<<10 - 1
	// pieceSize is how much more is read at a time where that does not do.
	pieceSize = 256 << 10
	// maxPooled keeps one large response from being remembered in memory for ever.
	maxPooled = 256 << 10
)

// buffer holds the body of one response, and decodes it. What is decoded, and what an error keeps, is copied
// out of it.
type buffer struct {
	bytes   []byte
	rest    [][]byte // of a long body: what follows, in pieces
	source  bytes.Buffer
	decoder jsontext.Decoder
}

// size is that of the whole body.
func (b *buffer) size() int {
	n := len(b.bytes)
	for _, piece := range b.rest {
		n += len(piece)
	}
	return n
}

// whole returns a copy of the whole body.
func (b *buffer) whole() []byte { return slices.Concat(append([][]byte{b.bytes}, b.rest...)...) }

// open returns a decoder of body and the rest of it, which is good until the next.
func (b *buffer) open(body []byte, rest ...[]byte) *jsontext.Decoder {
	b.source = *bytes.NewBuffer(body) // which the decoder does not copy
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

// bufferPool is for the calls of one client, one after another.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get() *buffer {
	if b, ok := p.pool.Get().(*buffer); ok {
		return b
	}
	return new(buffer)
}

func (p *bufferPool) put(b *buffer) {
	if b != nil && cap(b.bytes) <= maxPooled {
		p.pool.Put(b)
	}
}

// fill reads r, of which length bytes are announced, to its end or beyond most bytes, and reports whether
// there were more than most; of those it keeps the first. What the buffer cannot take is read piece by piece, and
// only what may be an Error object is joined: growing one buffer would take three times what comes.
func (b *buffer) fill(r io.Reader, length, most int64) (tooLarge bool, err error) {
	if length < 0 || length > min(most, defaultMaxResponseBytes) { // not to be believed before it is here
		length = usualSize
	}
	b.bytes, b.rest = slices.Grow(b.bytes[:0], int(length)+1), nil // one more, to see the end
	end, err := readInto(r, &b.bytes)
	size := int64(len(b.bytes))
	var pieces [][]byte
	for !end && size <= most {
		piece := make([]byte, 0, pieceSize)
		end, err = readInto(r, &piece)
		size += int64(len(piece))
		pieces = append(pieces, piece)
	}
	switch {
	case size > most:
		b.bytes = b.bytes[:min(int64(len(b.bytes)), most)]
		return true, err
	case pieces != nil:
		n := min(len(pieces), maxErrorObject/pieceSize)
		b.bytes = slices.Concat(append([][]byte{b.bytes}, pieces[:n]...)...)
		b.rest = pieces[n:]
	}
	return false, err
}

// readInto reads up to the capacity of b, and reports whether r is at its end or has failed.
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

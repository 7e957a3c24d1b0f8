// Package body reads the body of a response: into memory up to a limit, and as JSON.
package body

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/internal/safetext"
)

const (
	// usualSize is the size of a new buffer if the length of the body is unknown. A list of 100 pets
	// fits into it, which most servers send without a Content-Length.
	usualSize = 16 << 10
	// growth is the factor by which a buffer grows. It is large, so that the smaller buffers that are
	// left behind are little garbage.
	growth = 4
	// maxPooled is the capacity of the largest buffer that goes back to the pool, so that one long
	// response does not keep its memory for ever.
	maxPooled = usualSize * growth * growth
	// maxTrusted is the longest Content-Length for which memory is taken at once, before the bytes
	// arrive.
	maxTrusted = 10 << 20
	// maxEmptyReads is how often a reader may return neither a byte nor an error, as in package bufio.
	maxEmptyReads = 100
)

// Buffer holds the body of one response and decodes it. Results and errors get copies, so that the
// Buffer can be used again.
type Buffer struct {
	Bytes   []byte // the body, or its start if it is too large
	reader  timelyReader
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

// Fill reads a body to its end, until it has one byte more than most, or until ctx ends. length is
// the Content-Length, negative if unknown. Fill reports whether the body is longer than most; then
// the buffer keeps its first bytes.
func (b *Buffer) Fill(ctx context.Context, body io.Reader, length, most int64) (tooLarge bool, err error) {
	b.reader = timelyReader{context: ctx, body: body, until: time.Now().Add(grace)}
	defer func() { b.reader = timelyReader{} }() // or the pool would keep the body
	// A server may announce any length: memory for a long one is taken only as the bytes arrive.
	if length < 0 || length > min(most, maxTrusted) {
		length = usualSize - 1
	}
	text := b.Bytes[:0]
	if int64(cap(text)) <= length {
		text = make([]byte, 0, length+1) // one byte more, to see the end
	}
	for err == nil && int64(len(text)) <= most {
		if len(text) == cap(text) {
			text = append(make([]byte, 0, min(growth*int64(len(text))-1, most)+1), text...)
		}
		var n int
		n, err = b.reader.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
	}
	if err == io.EOF {
		err = nil
	}
	b.Bytes = text[:min(int64(len(text)), most)]
	if tooLarge = int64(len(text)) > most; tooLarge {
		// net/http uses a connection again only if the body was read to its end. A new connection
		// costs less than reading 64 KiB more.
		_, _ = io.CopyN(io.Discard, &b.reader, 64<<10) // the connection is closed if this fails
	}
	return tooLarge, err
}

// grace is how long a body is read although the context has ended: a body that comes together with
// a late header is there at once.
const grace = 100 * time.Millisecond

// timelyReader reads a body until the context ends, which the body of a user's transport may not
// heed, or until nothing comes for too many reads.
type timelyReader struct {
	context context.Context
	body    io.Reader
	until   time.Time // end of the grace
	empty   int       // number of reads since the last one that returned bytes
}

// Read implements [io.Reader].
func (r *timelyReader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if r.empty++; n > 0 {
		r.empty = 0
	}
	switch ended := r.context.Err(); {
	case err != nil:
		return n, err
	case ended != nil && time.Now().After(r.until):
		return n, ended
	case r.empty > maxEmptyReads:
		return n, io.ErrNoProgress
	}
	return n, nil
}

// MediaTypeProblem returns what is wrong with the media type of a response that must be JSON; empty
// if nothing is.
func MediaTypeProblem(h http.Header) string {
	const want = "application/json"
	// "identity" means that there is no encoding.
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "Content-Encoding was not requested"
	}
	given := h.Get("Content-Type")
	if given == want {
		return "" // without the parser, for most responses
	}
	mediaType, _, err := mime.ParseMediaType(given)
	switch {
	case err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter):
		return "Content-Type is missing or invalid"
	case mediaType != want:
		return "Content-Type is " + safetext.Quote(mediaType) + ", not " + want
	}
	return ""
}

// ErrorObject returns the code and the message of the Error object in b. It returns empty strings
// for any other body: a 502, for example, often comes from a gateway, with a body in HTML.
func (b *Buffer) ErrorObject() (code, message string) {
	const longest = 1 << 20 // a real one has less than 1 KiB
	if len(b.Bytes) > longest {
		return "", ""
	}
	d := b.Open()
	err := Object(d, func(name []byte) (known bool, err error) {
		field := &code
		switch string(name) {
		case "code":
		case "message":
			field = &message
		default:
			return false, nil
		}
		text, err := OptionalText(d)
		*field = string(text)
		return true, err
	})
	if Finish(d, err) != nil {
		return "", ""
	}
	return code, message
}

// Finish returns err with its offset in the body or, without one, an error if data follows the
// decoded value. It leaves out the decoder's JSON pointer, which has names from the body in an
// escaped form and could therefore show the key.
func Finish(d *jsontext.Decoder, err error) error {
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("data after top-level value, at offset %d", d.InputOffset())
	}
	offset := d.InputOffset()
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		err, offset = syntactic.Err, syntactic.ByteOffset
	}
	return fmt.Errorf("%w, at offset %d", err, offset)
}

// Object reads an object. It calls field for each name, to read the value, and skips the value if
// field does not know the name. The name is valid until field reads the value.
func Object(d *jsontext.Decoder, field func(name []byte) (known bool, err error)) error {
	if err := Delimiter(d, '{'); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		// Known names hardly ever have an escape, so only unknown ones are searched for one.
		known, err := field(name[1 : len(name)-1])
		if !known && bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, name)
			known, err = field(name)
		}
		if !known {
			err = d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	return Delimiter(d, '}')
}

// Int reads an int64.
func Int(d *jsontext.Decoder) (int64, error) {
	v, err := d.ReadValue()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(v), 10, 64) // the decoder refuses plus signs and leading zeros
	if err != nil {
		return 0, errors.New("not an int64")
	}
	return n, nil
}

// Text reads a string, which is valid until the next value is read.
func Text(d *jsontext.Decoder) ([]byte, error) {
	text, err := OptionalText(d)
	if err == nil && text == nil {
		err = errNoString
	}
	return text, err
}

var errNoString = errors.New("not a string")

// OptionalText is Text for a value that may be null; for null, it returns nil.
func OptionalText(d *jsontext.Decoder) ([]byte, error) {
	v, err := d.ReadValue()
	switch {
	case err != nil, v.Kind() == 'n':
		return nil, err
	case v.Kind() != '"':
		return nil, errNoString
	case bytes.IndexByte(v, '\\') < 0:
		return v[1 : len(v)-1], nil
	}
	return jsontext.AppendUnquote(nil, v)
}

// Delimiter reads a delimiter.
func Delimiter(d *jsontext.Decoder, kind jsontext.Kind) error {
	t, err := d.ReadToken()
	if err == nil && t.Kind() != kind {
		return fmt.Errorf("found %v instead of %v", t.Kind(), kind)
	}
	return err
}

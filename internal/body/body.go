// Package body reads the body of a response: into memory up to a limit, and as JSON.
package body

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/internal/safetext"
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

// maxEmptyReads is how often a reader may return neither a byte nor an error, as in package bufio.
const maxEmptyReads = 100

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
	if b.Bytes = b.Bytes[:0]; int64(cap(b.Bytes)) <= length {
		b.Bytes = make([]byte, 0, length+1) // one byte more, to see the end
	}
	for empty := 0; err == nil && int64(len(b.Bytes)) <= most; empty++ {
		size := len(b.Bytes)
		if size == cap(b.Bytes) {
			// Four times as large, so that what it had before is little garbage.
			b.Bytes = append(make([]byte, 0, min(4*int64(size), most)+1), b.Bytes...)
		}
		var n int
		n, err = r.Read(b.Bytes[size:cap(b.Bytes)])
		if b.Bytes = b.Bytes[:size+n]; n > 0 {
			empty = 0
		} else if empty == maxEmptyReads && err == nil {
			err = io.ErrNoProgress
		}
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

// MediaTypeProblem returns what is wrong with the media type of a response that must be JSON; empty
// if nothing is.
func MediaTypeProblem(h http.Header) string {
	// "identity" means that there is no encoding.
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "Content-Encoding was not requested"
	}
	if h.Get("Content-Type") == "application/json" {
		return "" // without the parser, for most responses
	}
	mediaType, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter):
		return "Content-Type is missing or invalid"
	case mediaType != "application/json":
		return "Content-Type is " + safetext.Quote(mediaType) + ", not application/json"
	}
	return ""
}

// maxErrorObject is the size of the longest body that is decoded as an Error object, in bytes. A
// real one has less than 1 KiB, and decoding needs a second copy of the body in memory.
const maxErrorObject = 1 << 20

// ErrorObject returns code and message of the Error object that text is. It returns empty strings
// for any other body: a 502, for example, often comes from a gateway, with a body in HTML.
func ErrorObject(text []byte) (code, message string) {
	var object struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if len(text) > maxErrorObject || json.Unmarshal(text, &object) != nil {
		return "", ""
	}
	return object.Code, object.Message
}

// Finish returns err with its offset in the body, or an error if data follows the decoded value.
// The decoder's JSON pointer has names from the body, escaped in its own way: it may contain the
// key.
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

// Object reads an object and calls field for each name. The name is valid until field reads the
// value.
func Object(d *jsontext.Decoder, field func(name []byte) error) error {
	if err := Delimiter(d, '{'); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := field(Text(name)); err != nil {
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

// String reads a string.
func String(d *jsontext.Decoder) (string, error) {
	text, err := Bytes(d)
	if err == nil && text == nil {
		err = errNotString
	}
	return string(text), err
}

// Bytes reads a string that is valid until the next value is read, or null, for which it returns
// nil.
func Bytes(d *jsontext.Decoder) ([]byte, error) {
	v, err := d.ReadValue()
	switch {
	case err != nil:
		return nil, err
	case v.Kind() == '"':
		return Text(v), nil
	case v.Kind() == 'n':
		return nil, nil
	}
	return nil, errNotString
}

var errNotString = errors.New("not a string")

// Text returns the text of a JSON string. It copies the text only if it has an escape.
func Text(v jsontext.Value) []byte {
	if !bytes.ContainsRune(v, '\\') {
		return v[1 : len(v)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, v) // the decoder has checked v
	return b
}

// Delimiter reads a delimiter.
func Delimiter(d *jsontext.Decoder, kind jsontext.Kind) error {
	t, err := d.ReadToken()
	if err == nil && t.Kind() != kind {
		return fmt.Errorf("found %v instead of %v", t.Kind(), kind)
	}
	return err
}

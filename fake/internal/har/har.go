// Package har writes an HTTP Archive (HAR 1.2), which browsers and debugging proxies open. It
// writes a body piece by piece and copies none, so that an archive costs no memory beside its
// bodies.
package har

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Entry is a request with its response. The archive holds it as it is: keys are taken out before.
type Entry struct {
	// Method is that of the request, and Path its target with the query.
	Method, Path string
	// RequestHeader and RequestBody are what was sent.
	RequestHeader http.Header
	RequestBody   []byte
	// Status is that of the response, 0 without one.
	Status int
	// ResponseHeader and ResponseBody are what was sent back.
	ResponseHeader http.Header
	ResponseBody   []byte
	// Time is when the request arrived, and Duration how long the response took.
	Time     time.Time
	Duration time.Duration
	// Comment may be empty.
	Comment string
}

// piece is how many bytes of a body are written at a time.
const piece = 32 << 10

// object is a JSON object. Its names below are those of the HTTP Archive format 1.2.
type object = map[string]any

// Write writes an archive, one entry after the other. version is that of its creator; origin, such
// as "http://127.0.0.1:4010", is put before paths. The error is that of w.
func Write(w io.Writer, version, origin string, entries iter.Seq[Entry]) error {
	a := &archive{w: bufio.NewWriterSize(w, piece)}
	creator, _ := json.Marshal(object{"name": "petstore-go fake", "version": version})
	a.write(`{"log":{"version":"1.2","creator":`, string(creator), `,"entries":[`)
	separator := "\n"
	for e := range entries {
		a.write(separator)
		separator = ",\n"
		a.entry(origin, e)
		if a.w.Flush() != nil { // the error stays
			break
		}
	}
	a.write("]}}\n")
	if err := a.w.Flush(); err != nil {
		return fmt.Errorf("writing an HTTP Archive: %w", err)
	}
	return nil
}

// archive is one on its way to a writer, which keeps its first error.
type archive struct {
	w   *bufio.Writer
	buf []byte // a piece of a body with its escapes
}

func (a *archive) write(texts ...string) {
	for _, t := range texts {
		_, _ = a.w.WriteString(t)
	}
}

// open writes an object without its end, so that a body can follow its other members.
func (a *archive) open(o object) {
	text, _ := json.Marshal(o) // nothing in it cannot be encoded
	_, _ = a.w.Write(text[:len(text)-1])
}

func (a *archive) entry(origin string, e Entry) {
	took := float64(e.Duration) / float64(time.Millisecond)
	entry := object{
		"startedDateTime": e.Time.UTC(), "time": took,
		"cache": object{}, "timings": object{"send": 0, "wait": took, "receive": 0},
	}
	if e.Comment != "" {
		entry["comment"] = e.Comment
	}
	a.open(entry)
	a.write(`,"request":`)
	a.request(origin, e)
	a.write(`,"response":`)
	a.response(e)
	a.write("}")
}

func (a *archive) request(origin string, e Entry) {
	target, query := e.Path, []object{}
	if u, err := url.ParseRequestURI(target); err == nil {
		query = pairs(http.Header(u.Query()))
		if u.Host == "" && target != "*" {
			target = origin + target
		}
	}
	request := message(e.RequestHeader, len(e.RequestBody))
	request["method"], request["url"], request["queryString"] = e.Method, target, query
	a.open(request)
	if len(e.RequestBody) > 0 {
		a.write(`,"postData":`)
		// The format has no encoding for the body of a request: the comment names it.
		a.body("comment", e.RequestHeader, e.RequestBody, object{})
	}
	a.write("}")
}

func (a *archive) response(e Entry) {
	response := message(e.ResponseHeader, len(e.ResponseBody))
	response["status"], response["statusText"] = e.Status, http.StatusText(e.Status)
	response["redirectURL"] = ""
	a.open(response)
	a.write(`,"content":`)
	a.body("encoding", e.ResponseHeader, e.ResponseBody, object{"size": len(e.ResponseBody)})
	a.write("}")
}

// message returns the members that requests and responses share.
func message(h http.Header, bodySize int) object {
	return object{
		"httpVersion": "HTTP/1.1", "cookies": []object{}, "headers": pairs(h),
		"headersSize": -1, "bodySize": bodySize, // -1: the journal does not know it
	}
}

func pairs(h http.Header) []object {
	list := []object{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, object{"name": name, "value": value})
		}
	}
	return list
}

// body writes an object with a body as its text. A body that is not UTF-8 is written in Base64, and
// the member named encoding says so.
func (a *archive) body(encoding string, h http.Header, body []byte, o object) {
	o["mimeType"] = h.Get("Content-Type")
	if utf8.Valid(body) {
		a.open(o)
		a.write(`,"text":"`)
		a.text(body)
	} else {
		o[encoding] = "base64"
		a.open(o)
		a.write(`,"text":"`)
		b := base64.NewEncoder(base64.StdEncoding, a.w)
		_, _ = b.Write(body)
		_ = b.Close()
	}
	a.write(`"}`)
}

// text writes UTF-8 with the escapes of a JSON string.
func (a *archive) text(body []byte) {
	for len(body) > 0 {
		n := min(len(body), piece)
		for n < len(body) && !utf8.RuneStart(body[n]) {
			n--
		}
		a.buf, _ = jsontext.AppendQuote(a.buf[:0], body[:n]) // it is valid UTF-8
		_, _ = a.w.Write(a.buf[1 : len(a.buf)-1])
		body = body[n:]
	}
}

package fake

import (
	"bufio"
	"bytes"
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

	petstore "github.com/petstore/petstore-go"
)

// object is a JSON object. Its names below are those of the HTTP Archive format 1.2.
type object = map[string]any

// writeArchive writes an HTTP Archive, which browsers and debugging proxies open, one request after
// the other. It writes a body piece by piece and copies none, so that an archive costs no memory
// beside its bodies. origin, such as "http://127.0.0.1:4010", is put before paths. The error is that
// of w.
func writeArchive(w io.Writer, origin string, requests iter.Seq[Request]) error {
	out := &archive{Writer: bufio.NewWriterSize(w, piece)}
	fmt.Fprintf(out, `{"log":{"version":"1.2","creator":{"name":"petstore-go fake","version":%q},"entries":[`,
		petstore.Version)
	separator := "\n"
	for r := range requests {
		_, _ = out.WriteString(separator)
		separator = ",\n"
		out.entry(origin, r)
		if out.Flush() != nil {
			break
		}
	}
	_, _ = out.WriteString("]}}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing an HTTP Archive: %w", err)
	}
	return nil
}

// archive is one on its way to a writer, which keeps its first error.
type archive struct {
	*bufio.Writer
	escaped []byte // a piece of a body
}

// entry writes a request whose bodies are empty, and each body where its empty text stands. No
// string in JSON has a quotation mark, so that nothing else looks like one.
func (a *archive) entry(origin string, r Request) {
	request, response := archivedRequest(origin, r), archivedResponse(r)
	bodies := [][]byte{r.ResponseBody}
	if len(r.Body) > 0 {
		bodies = [][]byte{r.Body, r.ResponseBody}
		// The format has no encoding for the body of a request: the comment names it.
		request["postData"] = archivedBody(r.Header, r.Body, "comment")
	}
	took := float64(r.Duration) / float64(time.Millisecond)
	entry := object{
		"startedDateTime": r.Time.UTC(), "time": took, "request": request, "response": response,
		"cache": object{}, "timings": object{"send": 0, "wait": took, "receive": 0},
	}
	if r.Hint != "" {
		entry["comment"] = r.Hint
	}
	rest, _ := json.Marshal(entry) // nothing in it cannot be encoded, and names are in order
	for _, body := range bodies {
		i := bytes.Index(rest, []byte(emptyText)) + len(emptyText) - 1
		_, _ = a.Write(rest[:i])
		rest = rest[i:]
		a.text(body)
	}
	_, _ = a.Write(rest)
}

const emptyText = `"text":""`

func archivedRequest(origin string, r Request) object {
	target, query := r.Path, []object{}
	if u, err := url.ParseRequestURI(target); err == nil {
		query = pairs(http.Header(u.Query()))
		if u.Host == "" && target != "*" {
			target = origin + target
		}
	}
	o := archivedMessage(r.Header, r.Body)
	o["method"], o["url"], o["queryString"] = r.Method, target, query
	return o
}

func archivedResponse(r Request) object {
	o := archivedMessage(r.ResponseHeader, r.ResponseBody)
	o["status"], o["statusText"], o["redirectURL"] = r.StatusCode, http.StatusText(r.StatusCode), ""
	body := archivedBody(r.ResponseHeader, r.ResponseBody, "encoding")
	body["size"] = len(r.ResponseBody)
	o["content"] = body
	return o
}

// archivedMessage returns the members that requests and responses share.
func archivedMessage(h http.Header, body []byte) object {
	return object{
		"httpVersion": "HTTP/1.1", "cookies": []object{}, "headers": pairs(h),
		"headersSize": -1, "bodySize": len(body), // -1: the journal does not know it
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

// archivedBody returns what there is to say about a body, with an empty text. If the body is
// written in Base64, the member named encoding says so.
func archivedBody(h http.Header, body []byte, encoding string) object {
	o := object{"mimeType": h.Get("Content-Type"), "text": ""}
	if !utf8.Valid(body) {
		o[encoding] = "base64"
	}
	return o
}

// text writes a body with the escapes of a JSON string, or in Base64 if it is not UTF-8.
func (a *archive) text(body []byte) {
	if !utf8.Valid(body) {
		b := base64.NewEncoder(base64.StdEncoding, a)
		_, _ = b.Write(body)
		_ = b.Close()
		return
	}
	for len(body) > 0 {
		n := min(len(body), piece)
		for n < len(body) && !utf8.RuneStart(body[n]) {
			n--
		}
		a.escaped, _ = jsontext.AppendQuote(a.escaped[:0], body[:n]) // it is valid UTF-8
		_, _ = a.Write(a.escaped[1 : len(a.escaped)-1])
		body = body[n:]
	}
}

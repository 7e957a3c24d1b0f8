package fake

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/internal/link"
)

const mediaJSON = "application/json"

// response is what the server decides to send for a request.
type response struct {
	status int         // 0: no response is sent, and the connection breaks
	header http.Header // a name without values is not sent
	body   []byte
	hint   string // why the request was refused, or has no response

	delivered bool // by a handler of WithHandler
}

// newResponse returns a response with a body of JSON.
func newResponse(status int, body any) response {
	return response{status: status, header: http.Header{"Content-Type": {mediaJSON}}, body: marshal(body)}
}

// marshal writes JSON. Bytes that are not UTF-8 become U+FFFD: only they could fail.
func marshal(v any) []byte {
	text, _ := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	return text
}

// wireError is an Error object (section 7).
type wireError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// refusal returns a response with an Error object.
func refusal(status int, format string, args ...any) response {
	message := fmt.Sprintf(format, args...)
	resp := newResponse(status, wireError{codeOf(status), message, status})
	resp.hint = message
	return resp
}

// codeOf returns the code of an Error object with this status. Section 7 leaves the codes open.
func codeOf(status int) string {
	known := map[int]string{http.StatusBadRequest: "invalid_request", http.StatusTooManyRequests: "rate_limited"}
	text := strings.NewReplacer(" ", "_", "-", "_", "'", "").Replace(http.StatusText(status))
	return cmp.Or(known[status], strings.ToLower(text), "injected")
}

// change changes the response, which is empty if the service has not been asked, as the fault says.
func (resp *response) change(f *Fault) {
	if resp.header == nil {
		resp.header = http.Header{"Content-Type": {mediaJSON}}
	}
	switch {
	case f.Wire == WireLoginPage:
		resp.status = cmp.Or(f.Status, http.StatusOK)
		resp.header = http.Header{"Content-Type": {"text/html; charset=utf-8"}}
		resp.body = []byte("<!DOCTYPE html>\n<title>Log in</title>\n<form method=post><input name=user></form>\n")
		if resp.status/100 == 3 {
			resp.header.Set("Location", "http://login.example/")
		}
	case f.Status >= http.StatusBadRequest:
		e := wireError{cmp.Or(f.Code, codeOf(f.Status)), cmp.Or(f.Message, resp.hint), f.Status}
		resp.status, resp.body = f.Status, marshal(e)
		resp.header.Set("Content-Type", mediaJSON)
	case f.Status != 0:
		resp.status = f.Status
	}
	if f.Body != nil {
		resp.body = f.Body
	}
	if f.RetryAfter != "" {
		resp.header.Set("Retry-After", f.RetryAfter)
	}
}

// addHeaders adds the headers of each response and of the fault. It cuts the body for WireTruncate.
func (x *exchange) addHeaders(resp *response) {
	length := len(resp.body)
	if x.fault.Wire == WireTruncate {
		resp.body = resp.body[:length/2]
		length = max(length, 1) // so that an empty body is cut off, too
	}
	header := x.commonHeaders()
	maps.Copy(header, resp.header)
	header["Content-Length"] = []string{strconv.Itoa(length)} // which net/http does not send with a 204
	// A name without values stays: it keeps net/http from adding its own.
	maps.Copy(header, x.fault.Header)
	resp.header = header
}

// commonHeaders returns the headers of each response.
func (x *exchange) commonHeaders() http.Header {
	header := http.Header{"Date": {x.srv.Now().UTC().Format(http.TimeFormat)}}
	if x.fault.Wire != WireLoginPage { // proxies send no quota
		q := x.quota // of the time when the request was counted
		if q == (quota{}) {
			q = x.uncountedQuota()
		}
		header["X-Ratelimit-Limit"] = []string{strconv.Itoa(q.limit)}
		header["X-Ratelimit-Remaining"] = []string{strconv.Itoa(q.remaining)}
		header["X-Ratelimit-Reset"] = []string{strconv.FormatInt(q.reset, 10)}
	}
	return header
}

// deliver sends the response, or the part of it that a fault lets through.
func (x *exchange) deliver(resp response) {
	w, f := x.w, x.fault
	if resp.status == 0 {
		breakOff(w, f.Wire)
		return
	}
	maps.Copy(w.Header(), resp.header)
	w.WriteHeader(resp.status)
	if f.Drip > 0 {
		x.drip(w, resp.body)
	} else {
		_, _ = w.Write(resp.body) // the client may be gone
	}
	if f.Wire == WireTruncate {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// drip sends the body in pieces, with the same pause before each.
func (x *exchange) drip(w http.ResponseWriter, body []byte) {
	pieces := min(len(body), 100)
	for i := range pieces {
		_ = http.NewResponseController(w).Flush()
		if pause(x.req.Context(), x.fault.Drip/time.Duration(pieces)) != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body[len(body)*i/pieces : len(body)*(i+1)/pieces])
	}
}

// breakOff breaks the connection instead of sending a response; wire says how. To a socket it first
// sends an interim response, so that the client does not repeat the request. Clients of net/http
// read and ignore the interim response.
func breakOff(w http.ResponseWriter, wire Wire) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if wire == WireGarbage {
		_, _ = c.Write([]byte("\x16\x03\x00these-bytes-are-no-HTTP-response\r\n\r\n")) // the client may be gone
	} else if _, inMemory := c.(*link.Conn); !inMemory {
		_, _ = c.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	}
	if wire == WireGarbage || wire == WireClose {
		_ = c.Close()
	} else {
		abort(c)
	}
}

// abort closes a connection. Bytes that are still on their way are lost.
func abort(c io.Closer) {
	if l, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = l.SetLinger(0) // so that Close resets
	}
	_ = c.Close()
}

package fake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"
)

const maxBody = 1 << 20

// exchange is one request in the server, the same for every entry point.
type exchange struct {
	srv     *Server
	req     *http.Request
	ours    bool // nobody else has req.Header, so that the journal need not copy it
	method  string
	arrived time.Time
	route   route
	token   string  // of its Authorization header
	problem string  // why that is no valid key
	key     *apiKey // nil without a valid key
	body    []byte
	bodyErr error
	entry   *entry // nil until it has arrived whole
}

// route is what a method and a path mean (section 4).
type route struct {
	operation string                            // empty if they fit none
	respond   func(*Server, *exchange) response // nil without such a path
	petID     string
	allow     string // the methods of a path, if the method is none of them
}

// readBody reads the request's body as far as the server takes it.
func (x *exchange) readBody() {
	if x.req.Body == nil || x.req.Body == http.NoBody {
		return
	}
	from := io.Reader(x.req.Body)
	if at, ok := from.(io.ReaderAt); ok { // the client takes a body for sent once Read was called
		from = io.NewSectionReader(at, 0, math.MaxInt64)
	}
	body, err := readBounded(from)
	switch {
	case err != nil:
		x.bodyErr = fmt.Errorf("the request body cannot be read: %w", err)
	case len(body) > maxBody:
		body = body[:maxBody]
		x.bodyErr = errors.New("the request body is larger than 1 MiB")
	}
	x.body = bytes.Clone(body) // without the room to grow, since the journal keeps it
}

// readBounded reads a little more than maxBody at most, and drops what a client still sends up to
// eight times that, since most clients look for a response only when they have sent their request.
func readBounded(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err == nil && len(body) > maxBody {
		_, err = io.CopyN(io.Discard, r, 8*maxBody)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return body, err
}

// quota returns the quota for the headers: without a valid key, that of an unused Free plan.
func (x *exchange) quota(now time.Time) quota {
	if x.key == nil {
		return quota{PlanFree.PerMinute, PlanFree.PerMinute, now.Unix() + minute}
	}
	return x.key.peek()
}

// copyRequest returns the request as Match gets it, the same through every entry point.
func (x *exchange) copyRequest() *http.Request {
	r := x.req.Clone(x.req.Context())
	r.Body = io.NopCloser(bytes.NewReader(x.body))
	r.Method = x.method
	r.ContentLength = int64(len(x.body))
	r.RequestURI = x.req.URL.RequestURI()
	r.URL = &url.URL{Path: x.req.URL.Path, RawPath: x.req.URL.RawPath, RawQuery: x.req.URL.RawQuery}
	r.GetBody = nil
	return r
}

func (x *exchange) enterJournal() {
	x.entry = &entry{Request: Request{
		Operation: x.route.operation, Method: x.method, Path: x.req.URL.RequestURI(),
		Header: x.req.Header, Body: x.body, Time: x.arrived,
	}}
	if !x.ours {
		x.entry.Header = x.req.Header.Clone()
	}
	if x.key != nil {
		x.entry.Key = x.key.number
	}
	x.srv.journal.add(x.entry)
}

// String names a request without its query, which may hold a key.
func (x *exchange) String() string {
	return fmt.Sprintf("%s %s", x.method, x.req.URL.Path)
}

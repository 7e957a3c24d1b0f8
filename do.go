package petstore

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/internal/credential"
)

// Do sends a request for which the SDK has no method, to a path below the base URL. The client's
// key, limiter and retries apply. A GET is a read. Any other method is a write, whose error may
// match [ErrOutcomeUnknown]. If the error of a write does not match it, the service has not carried
// out the request. method is GET, POST, PUT, PATCH or DELETE. path must be escaped, as by
// [net/url.PathEscape], and may have a query: "pets/7?full=true".
//
// If in is not nil, Do sends it as JSON. The body of a 2xx must be JSON; if out is not nil, Do
// decodes the body into out. A [encoding/json.RawMessage] is sent or received without a change. Do
// refuses a []byte, because it cannot know whether the bytes are JSON. A 204 leaves out unchanged.
//
// In an error of Do, Operation is "do " and the method, such as "do PUT". [Call].Template ends in
// /{path}, whatever the path is. So logs and metrics have few different values.
func (c *Client) Do(
	ctx context.Context, method, path string, in, out any, opts ...CallOption,
) (*Response, error) {
	op := &operation{name: "do " + method, method: method, template: "/{path}"}
	path, query, _ := strings.Cut(strings.TrimPrefix(path, "/"), "?")
	r := request{operation: op, path: "/" + path, query: query}
	if argument, problem := r.problem(in, out); problem != "" {
		return nil, &ArgumentError{op.name, argument, problem}
	}
	if out != nil {
		r.decode = func(body []byte) error { return json.Unmarshal(body, out) }
	}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil { // err is not wrapped, because its text may contain a part of this argument
			return nil, &ArgumentError{op.name, "in", "cannot be encoded as JSON"}
		}
		r.body = body
		if raw, ok := in.(json.RawMessage); ok && len(raw) > 0 {
			r.body = raw // Marshal has checked it, and returned it in another form
		}
	}
	response := &Response{}
	if err := c.do(ctx, r, opts, response); err != nil {
		return nil, err
	}
	return response, nil
}

// problem returns which of the arguments of Do is wrong, and why.
func (r *request) problem(in, out any) (argument, problem string) {
	const noBytes = "is a []byte; use json.RawMessage for JSON as it is"
	path := credential.PathProblem(r.path, r.query)
	_, fromBytes := in.([]byte)
	_, toBytes := out.(*[]byte)
	target := reflect.ValueOf(out)
	switch {
	case !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, r.method):
		return "method", "is not GET, POST, PUT, PATCH or DELETE"
	case path != "":
		return "path", path
	case in != nil && r.method == http.MethodGet:
		return "in", "is set, but a GET has no body"
	case fromBytes:
		return "in", noBytes
	case toBytes:
		return "out", noBytes
	case out != nil && (target.Kind() != reflect.Pointer || target.IsNil()):
		return "out", "is not a pointer"
	}
	return "", ""
}

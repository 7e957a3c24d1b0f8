package petstore

import (
	"context"
	"encoding/json" // the values of Do are made for it, and for its RawMessage
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/internal/credential"
)

// Do sends a request that the SDK has no method for, below the base URL, with the client's key,
// limiter and rules: a GET is repeated, everything else is sent once and may match
// [ErrOutcomeUnknown]; after any other error the service did not carry out the request. method is
// GET, POST, PUT, PATCH or DELETE. path must be escaped, as by [net/url.PathEscape], and may have a
// query: "pets/7?full=true".
//
// in is sent as JSON, unless nil. The body of a 2xx must be JSON and is decoded into out, unless
// nil. A [encoding/json.RawMessage] is JSON as it is; a []byte is refused, since it does not say
// whether it is JSON. A 204 leaves out unchanged.
//
// The Operation of its errors is "do " and the method, and [Call].Template ends in /{path}, so that
// logs and metrics have few different values.
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
		r.into = jsonValue{out}
	}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil { // its text may contain a part of in
			return nil, &ArgumentError{op.name, "in", "cannot be encoded as JSON"}
		}
		r.body = body
	}
	response := &Response{}
	if err := c.do(ctx, r, opts, response); err != nil {
		return nil, err
	}
	return response, nil
}

// jsonValue has a pointer to the value that a response of Do is decoded into.
type jsonValue struct{ out any }

var errNotJSON = errors.New("is not JSON")

func (v jsonValue) decode(body []byte) error {
	if !jsontext.Value(body).IsValid() { // encoding/json takes duplicate names and invalid UTF-8
		return errNotJSON
	}
	return json.Unmarshal(body, v.out)
}

// problem returns which of the arguments of Do is wrong, and why.
func (r *request) problem(in, out any) (argument, problem string) {
	const noBytes = "is a []byte; use json.RawMessage for JSON as it is"
	_, path := credential.PathBelow(r.path, r.query)
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

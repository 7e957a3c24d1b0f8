package petstore

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/petstore/petstore-go/internal/body"
)

// Do sends a request that the SDK has no method for, below the base URL, with the client's key,
// limiter and rules: a GET is repeated, everything else is sent once and may match
// [ErrOutcomeUnknown]; after any other error the service did not carry out the request. method is
// GET, POST, PUT, PATCH or DELETE. path is escaped and may have a query: "pets/7?full=true". in is
// encoded as JSON unless nil; the body of a 2xx is decoded into out unless nil. A 204 leaves out as
// it is.
//
// The errors are those of the other methods. Their Operation is "do " and the method, and
// [Call].Template ends in /{path}, so that logs and metrics have few different values.
func (c *Client) Do(
	ctx context.Context, method, path string, in, out any, opts ...CallOption,
) (*Response, error) {
	const few = "is not GET, POST, PUT, PATCH or DELETE"
	if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method) {
		return nil, &ArgumentError{"do", "method", few}
	}
	op := &operation{name: opDo + method, method: method, repeatable: method == http.MethodGet}
	r := arguments{operation: op, decodes: out != nil}
	path, r.query, _ = strings.Cut(path, "?")
	var problem string
	if r.path, problem = pathBelow(path, r.query); problem != "" {
		return nil, &ArgumentError{op.name, "path", problem}
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return nil, &ArgumentError{op.name, "out", "is not a pointer"}
	}
	if in != nil {
		var err error
		if op.repeatable {
			return nil, &ArgumentError{op.name, "in", "is set, but a GET has no body"}
		}
		if r.body, err = json.Marshal(in); err != nil { // whose text may have a part of in
			return nil, &ArgumentError{op.name, "in", "cannot be encoded as JSON"}
		}
	}
	_, response, err := perform(ctx, c, r, opts, func(b *body.Buffer) (none, error) {
		return none{}, json.Unmarshal(b.Whole(), out)
	})
	if err != nil {
		return nil, err
	}
	return &response, nil
}

// pathBelow returns the unescaped path, with a slash before it, or what is wrong with an escaped
// path and its query. The result is below the base URL for each server, also for one that unescapes
// twice, takes a backslash for a slash, or cuts off parameters after a semicolon.
func pathBelow(escaped, query string) (path, problem string) {
	path, err := url.PathUnescape(strings.TrimPrefix(escaped, "/"))
	switch {
	case err != nil || !urlText(escaped) || !urlText(query):
		return "", "has a character that is not escaped"
	case path == "":
		return "", "is empty"
	case strings.Count(path, "/") != strings.Count(strings.TrimPrefix(escaped, "/"), "/"):
		return "", "has an escaped slash"
	case strings.ContainsAny(path, "%\\") || strings.ContainsFunc(path, unicode.IsControl):
		return "", "has an escaped percent sign, backslash or control character"
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		name, _, _ := strings.Cut(segment, ";")
		if name == "." || name == ".." || segment == "" {
			return "", "has the segment ., .. or an empty one"
		}
	}
	return "/" + path, ""
}

// urlText reports whether s has only characters that may be in the path or query of a URL.
func urlText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("-._~!$&'()*+,;=:@/?%", r)
	})
}

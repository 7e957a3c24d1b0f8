package httpjson

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// How many items a list in a response has by default, and at most.
const (
	DefaultList = 100
	MaxList     = 10_000
)

// Query is the query of an admin request. Err is the first error of all reads, so that a route
// checks it once.
type Query struct {
	// Values are the parameters as they were given.
	Values url.Values
	Err    error
}

// ReadQuery reads the query of a request, which may have each of the allowed parameters once.
func ReadQuery(r *http.Request, allowed ...string) *Query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &Query{Values: values}
	if err != nil {
		q.Fail("the query cannot be read")
	}
	for name, given := range values {
		q.OneOf("a parameter", name, allowed)
		if len(given) > 1 {
			q.Fail("the parameter %s is given twice", name)
		}
	}
	return q
}

// Fail sets Err, unless an earlier error is there.
func (q *Query) Fail(format string, args ...any) {
	if q.Err == nil {
		q.Err = fmt.Errorf(format, args...)
	}
}

// OneOf fails unless a value is one of some words.
func (q *Query) OneOf(name, value string, words []string) {
	if !slices.Contains(words, value) {
		q.Fail("%s is %q; it must be one of %s", name, spec.Clip(value), strings.Join(words, ", "))
	}
}

// Number returns a parameter between two bounds, or the value of otherwise if it is missing.
func (q *Query) Number(name string, least, most, otherwise int64) int64 {
	if !q.Values.Has(name) {
		return otherwise
	}
	return q.ParseNumber(name, q.Values.Get(name), least, most)
}

// ParseNumber reads a number between two bounds.
func (q *Query) ParseNumber(name, value string, least, most int64) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least || n > most {
		q.Fail("%s is %q; it must be a number between %d and %d", name, spec.Clip(value), least, most)
	}
	return n
}

// ID returns the id in the path of a request, and whether it is a number.
func ID(r *http.Request) (int64, bool) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	return n, err == nil
}

package main

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// query is the query of an admin request. It keeps the first error, for the end of all reading.
type query struct {
	values url.Values
	err    error
}

// readQuery reads the query of a request that may have the given parameters, once each.
func readQuery(r *http.Request, allowed ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.fail("the query cannot be read")
	}
	for name, given := range values {
		switch {
		case !slices.Contains(allowed, name):
			q.fail("there is no parameter %q; there are %s", clip(name), strings.Join(allowed, ", "))
		case len(given) > 1:
			q.fail("the parameter %s is given twice", name)
		}
	}
	return q
}

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = badRequest(format, args...)
	}
}

// text returns a parameter that is one of some words, "" if it is empty, as forms send what was not
// filled in, or not given.
func (q *query) text(name string, words ...string) string {
	v := q.values.Get(name)
	if v != "" && len(words) > 0 && !slices.Contains(words, v) {
		q.fail("%s is %q; it must be one of %s", name, clip(v), strings.Join(words, ", "))
	}
	return v
}

// number returns a parameter between two bounds, or what it is if it is not given.
func (q *query) number(name string, least, most, otherwise int64) int64 {
	if !q.values.Has(name) {
		return otherwise
	}
	v := q.values.Get(name)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		q.fail("%s is %q; it must be a number between %d and %d", name, clip(v), least, most)
	}
	return n
}

// id returns the id in the path of a request, and whether it is one.
func id(r *http.Request) (int64, bool) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	return n, err == nil
}

// The bounds of a list.
const (
	defaultList = 100
	maxList     = 10_000
)

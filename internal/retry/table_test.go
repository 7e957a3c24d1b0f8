package retry

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRetryTable compares the rules with the table in the documentation of the client. This test
// must have each row of that table, and each status must be in one of the rows.
func TestRetryTable(t *testing.T) {
	doc, err := os.ReadFile("../../doc.go")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(doc), "//\tresponse or failure ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n//\n")
	rows := strings.Split(table, "\n//\t")[1:]
	results := map[string][]Result{
		"429":                                  span(429, 429),
		"408, 5xx other than 501":              slices.Concat(span(408, 408), span(500, 500), span(502, 599)),
		"3xx, never followed":                  span(300, 399),
		"other 4xx, 501":                       slices.Concat(span(400, 407), span(409, 428), span(430, 499), span(501, 501)),
		"a 2xx that is not the documented one": span(200, 299),
		"reset, cut off, attempt timed out": {
			{Sent: true, Failure: Connection}, {Sent: true, Status: 200, Success: true, Failure: Connection},
		},
		"nothing was written, as a refused dial": {{Failure: Connection}},
		"unknown host, TLS certificate":          {{Failure: Permanent}},
		"a response that is not HTTP":            {{Sent: true, Failure: Protocol}},
	}
	for _, row := range rows {
		name := strings.TrimSpace(row[:42])
		reads, create := row[42:64], row[64:]
		require.NotEmpty(t, results[name], "%q is not in this test", name)
		for _, r := range results[name] {
			assert.Equal(t, strings.Contains(reads, "again"), again(r, true), "read: %s %+v", name, r)
			assert.Equal(t, strings.Contains(create, "again"), again(r, false), "write: %s %+v", name, r)
			assert.Equal(t, strings.Contains(create, "ErrOutcomeUnknown"), r.MayBeDone(), "write: %s %+v", name, r)
		}
		delete(results, name)
	}
	assert.Empty(t, results, "the table lacks rows")
}

// After some statuses, such as 429, a request is sent again although the service has refused it.
// Such a response says when: if a row like this is added to statuses, Decide must honour its
// Retry-After.
func TestRetryTable_refusalsHonourRetryAfter(t *testing.T) {
	for status := range 600 {
		f := after(Result{Sent: true, Status: status})
		f.RetryAfter, f.OpensAt = time.Hour, f.Now.Add(time.Hour)
		plan := Decide(&f)
		refused := plan.Again && !f.MayBeDone() || status == http.StatusServiceUnavailable
		waits := plan.Pause >= time.Hour || !plan.NotBefore.Before(f.OpensAt)
		assert.Equal(t, refused, waits, "status %d", status)
	}
}

func again(r Result, repeatable bool) bool {
	f := after(r)
	f.Repeatable = repeatable
	return Decide(&f).Again
}

func span(from, to int) (results []Result) {
	for code := from; code <= to; code++ {
		results = append(results, Result{Sent: true, Status: code})
	}
	return results
}

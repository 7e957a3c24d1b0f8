package petstore

import (
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/wire"
)

// result is the result of an attempt.
type result struct {
	sent       bool
	statusCode int
	err        error
	failure    wire.Failure
}

// The words of the tables.
const (
	again   = "again"
	once    = "once"
	unknown = "once, outcome unknown"
)

// TestRetryTable compares the table of doc.go with the code.
func TestRetryTable(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, row := range []struct {
		name, doc     string // what the client gets; the first cell, if it has a row of its own
		reads, create string
		results       []result
	}{
		{"400", "", once, once, statuses(400)},
		{"401", "", once, once, statuses(401)},
		{"404", "", once, once, statuses(404)},
		{"429", "429", again, again, statuses(429)},
		{"408, 5xx other than 501", "408, 5xx other than 501", again, unknown, statuses(408, 500, 502, 503, 504, 599)},
		{"3xx, never followed", "3xx, never followed", once, unknown, statuses(300, 302, 303, 304, 307, 308)},
		{"other 4xx, 501", "other 4xx, 501", once, once, statuses(402, 403, 405, 409, 422, 451, 501)},
		{
			"another 2xx, or not what the document says", "a 2xx that is not the documented one",
			once, unknown, statuses(202, 204, 206, 299),
		},
		{"body cut off", "", again, unknown, []result{
			{statusCode: http.StatusOK, sent: true, err: errors.New("EOF"), failure: wire.Connection},
		}},
		{"connection or stream reset, attempt timed out", "reset, cut off, attempt timed out", again, unknown, []result{
			{sent: true, err: errors.New("reset"), failure: wire.KindOf(errors.New("reset"))},
			{sent: true, err: &attemptTimeoutError{}, failure: wire.KindOf(&attemptTimeoutError{})},
		}},
		{
			"connection refused: nothing was written", "nothing was written, as a refused dial", again, again,
			[]result{{err: dial, failure: wire.KindOf(dial)}},
		},
		{"unknown host, bad certificate", "unknown host, TLS certificate", once, once, []result{
			{err: &net.DNSError{IsNotFound: true}, failure: wire.KindOf(&net.DNSError{IsNotFound: true})},
			{err: tls.AlertError(42), failure: wire.KindOf(tls.AlertError(42))},
		}},
		{"bytes that are not HTTP", "a response that is not HTTP", once, unknown, []result{
			{sent: true, err: errors.New("malformed HTTP"), failure: wire.KindOf(errors.New("malformed HTTP"))},
		}},
	} {
		if row.doc != "" {
			line := lineWith(string(doc), "//\t"+row.doc+" ")
			assert.Equal(t, strings.Contains(line, "; ErrOutcomeUnknown"), row.create == unknown, line)
			wantAgain := map[string]int{again + again: 2, again + unknown: 1}[row.reads+row.create]
			assert.Equal(t, wantAgain, strings.Count(line, "again"), line)
		}
		for _, a := range row.results {
			assert.Equal(t, row.reads, decided(t, getPet, a), "getPet: %s", row.name)
			assert.Equal(t, row.reads, decided(t, listPets, a), "listPets: %s", row.name)
			if a.statusCode == http.StatusOK {
				a.statusCode = http.StatusCreated
			}
			assert.Equal(t, row.create, decided(t, createPet, a), "createPet: %s", row.name)
		}
	}
}

func lineWith(text, prefix string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	return ""
}

func statuses(codes ...int) (results []result) {
	for _, code := range codes {
		results = append(results, result{sent: true, statusCode: code})
	}
	return results
}

// decided returns what the code does after an attempt with this result, in the words of the tables.
func decided(t *testing.T, op *operation, like result) string {
	t.Helper()
	config := callConfig{retry: RetryPolicy{}.withDefaults(), maxWait: defaultMaxWait}
	a := attemptOf(t, op, &config)
	a.call.buffer = new(body.Buffer)
	a.number, a.sent, a.statusCode, a.err, a.failure = 1, like.sent, like.statusCode, like.err, like.failure
	if a.call.decide(a).again {
		return again
	}
	if errors.Is(a.outcome(), ErrOutcomeUnknown) {
		return unknown
	}
	return once
}

func TestRetryPolicyBackoff(t *testing.T) {
	for _, p := range []RetryPolicy{
		{},
		{BaseDelay: 1},
		{BaseDelay: time.Hour},
		{MaxDelay: time.Millisecond},
		{BaseDelay: math.MaxInt64 / 3, MaxDelay: math.MaxInt64},
		{BaseDelay: time.Second, MaxDelay: time.Second},
	} {
		p := p.withDefaults()
		assert.LessOrEqual(t, p.BaseDelay, p.MaxDelay)
		full := p.BaseDelay
		for n := 1; n <= 100; n++ {
			d := p.backoff(n)
			assert.GreaterOrEqual(t, d, full/2, "attempt %d of %+v", n, p)
			assert.LessOrEqual(t, d, full, "attempt %d of %+v", n, p)
			full += min(full, p.MaxDelay-full)
		}
	}
}

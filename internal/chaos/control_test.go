package chaos

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// These tests check the checks: they must find what is wrong with invented calls, and with requests
// that no client should send.

func TestChaosFindsWrongCalls(t *testing.T) {
	t.Parallel()
	const create = petstore.OpCreatePet
	lost := func(err error) error { return &petstore.TransportError{Operation: create, Err: err} }
	failed, unknown := lost(io.EOF), lost(petstore.ErrOutcomeUnknown)
	rex, start := petstore.Pet{ID: 1, Name: "Rex"}, time.Now()
	got := func(pets ...petstore.Pet) *result { return &result{pets: pets} }
	sent := func(statuses ...int) (all []*request) {
		for _, status := range statuses {
			all = append(all, &request{kind: plain, status: status, at: start})
		}
		return all
	}
	asks := &request{kind: &kind{fault: fake.Fault{RetryAfter: "3"}}, status: 503, at: start}
	for want, c := range map[string]*call{
		"panic: fell":                   {panicked: "fell"},
		"outcome: a result and":         {},
		"error: a *errors":              {err: errors.New("no type of ours")},
		"error: 7 bytes":                {err: errors.New("one\ntwo")},
		"key: it is in an error":        {err: lost(errors.New("no " + key))},
		"error: it matches":             {err: lost(context.Canceled)},
		"error: it does not":            {err: lost(context.Canceled), over: true},
		"error: a read":                 {err: unknown},
		"wait: ":                        {err: failed, took: time.Hour},
		"attempts: 0, reported 3":       {err: &petstore.APIError{Response: petstore.Response{Attempts: 3}}},
		"attempts: 0, reported 7":       {result: &result{attempts: 7}},
		"read: 21 pets":                 {result: got(make([]petstore.Pet, 21)...)},
		"read: {ID:1 Name:Nobody":       {result: got(petstore.Pet{ID: 1, Name: "Nobody"})},
		"too many requests: 1":          {err: failed, requests: sent(503)},
		"sent too late: request 1":      {err: failed, requests: sent(503), began: start.Add(-time.Hour)},
		"sent too early: request 2":     {err: failed, requests: append([]*request{asks}, sent(503)...)},
		"sent again: after request 1: ": {err: failed, requests: sent(404, 404)},
		"sent again: after request 2: ": {operation: create, err: failed, requests: sent(429, 503, 503)},
		"not done: the catalogue":       {operation: create, pet: petstore.NewPet{Name: "Rex"}, err: failed},
		"done: ":                        {operation: create, pet: petstore.NewPet{Name: "Ada"}, result: got(rex)},
		"outcome: it can be [unknown]":  {operation: create, err: failed, requests: sent(503)},
		"outcome: it can be [done]":     {operation: create, err: unknown, requests: sent(201), attemptTimeout: time.Hour},
		"outcome: it can be [not done]": {operation: create, err: unknown},
	} {
		r := &report{
			scenario: &scenario{},
			byName:   map[string][]petstore.Pet{"Rex": {rex}}, byID: map[int64]petstore.Pet{1: rex},
		}
		r.checkCall(c)
		assert.Contains(t, "\n"+strings.Join(r.findings, "\n"), "\n"+want)
	}
}

func TestChaosFindsWrongRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewServer(fake.WithKey(key, fake.Plan{PerMinute: 2}), fake.WithBan(1, time.Hour))
		srv.Inject(fake.Fault{Status: 500, AfterCommit: true})
		c := &call{operation: petstore.OpCreatePet, pet: petstore.NewPet{Name: "Rex"}}
		r := &report{scenario: &scenario{callers: [][]*call{{c}}}, counts: map[string]int{}}
		recorder := &recorder{srv.HTTPClient().Transport, r}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), callKey{}, c))
		for range 4 { // two creates, and two requests over the limit; their bodies stay open
			body := strings.NewReader(`{"name":"Rex","categoryId":1}`)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+"/pets", body)
			require.NoError(t, err)
			req.Header = http.Header{
				"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "X-Api-Key": {key},
			}
			_, err = recorder.RoundTrip(req)
			require.NoError(t, err)
			time.Sleep(time.Millisecond)
		}
		cancel()
		srv.Close()
		r.check(srv)
		for _, rule := range []fake.Rule{
			"body", "key", "limit", "duplicate", fake.RuleRepeatedCreate, fake.RuleEarlyRetry, fake.RuleBanProvoked,
		} {
			assert.Contains(t, "\n"+strings.Join(r.findings, "\n"), "\n"+string(rule)+": ")
		}
	})
}

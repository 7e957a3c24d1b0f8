package chaos

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// These tests check the checks: each of them makes clients wrong in one way, which must be found.

// wrong sends a request in a way that is wrong for a client. life is the context of the scenario.
type wrong func(life context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error)

func (w wrong) around(life context.Context) wrapper {
	if w == nil {
		return nil
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) { return w(life, next, r) })
	}
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip calls t.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestChaosFindsWrongClients(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct {
		wrong wrong
		rules []string
	}{
		"repeats a failed create":     {repeatCreate, []string{"sent again", "duplicate", fake.RuleRepeatedCreate}},
		"repeats a read for ever":     {repeatRead, []string{"too many requests", "attempts"}},
		"takes failures for refusals": {refuse, []string{"not done", "outcome"}},
		"invents responses":           {makeUp, []string{"done", "outcome"}},
		"loses responses":             {lose, []string{"lost", "outcome"}},
		"changes pets in responses":   {alter, []string{"read"}},
		"changes pets in requests":    {rename, []string{"duplicate", "done"}},
		"shows the key":               {expose, []string{"key"}},
		"follows redirects":           {follow, []string{"key"}},
		"does not end with its call":  {endure, []string{"wait", "sent too late"}},
		"leaves bodies open":          {leave, []string{"body", "connection"}},
		"panics":                      {fall, []string{"panic"}},
	} {
		t.Run(name, func(t *testing.T) {
			find(t, is.wrong, is.rules, func(*scenario) {})
		})
	}
}

func TestChaosFindsClientsThatIgnoreTheLimit(t *testing.T) {
	t.Parallel()
	find(t, blind, []string{fake.RuleEarlyRetry, fake.RuleBanProvoked, "limit", "sent too early"},
		func(w *scenario) { w.plan, w.changes = fake.Enterprise(10, 0), nil })
}

// find runs scenarios until the checks have found that a client breaks the rules. A single scenario
// may not have what shows a rule: so much depends on the draw, which changes with each new kind of
// failure.
func find(t *testing.T, is wrong, rules []string, change func(*scenario)) {
	t.Helper()
	const most = 20
	missing, found := rules, map[string]bool{}
	for seed := range uint64(most) {
		entries := inMemory()[:3]
		w := draw(firstOfControl+seed, entries[seed%uint64(len(entries))], callsOfControl)
		change(w)
		maps.Copy(found, runInBubble(t, w, is).rules())
		missing = slices.DeleteFunc(slices.Clone(rules), func(rule string) bool { return found[rule] })
		if len(missing) == 0 {
			return
		}
	}
	assert.Empty(t, missing, "the rules that the checks did not find broken in %d scenarios", most)
}

// rules returns the rules that were broken.
func (r *report) rules() map[string]bool {
	rules := map[string]bool{}
	for _, f := range r.findings {
		rules[f.rule] = true
	}
	return rules
}

func TestChaosFindsAgainWithTheSameSeed(t *testing.T) {
	t.Parallel()
	find := func() map[finding]bool {
		found := map[finding]bool{}
		for _, f := range runInBubble(t, draw(7, inMemory()[0], callsOfControl), repeatCreate).findings {
			if f.rule == "duplicate" {
				found[f] = true
			}
		}
		return found
	}
	always := find()
	for range 3 {
		found := find()
		maps.DeleteFunc(always, func(f finding, _ bool) bool { return !found[f] })
	}
	assert.NotEmpty(t, always)
}

func TestChaosDrawsTheSameFromTheSameSeed(t *testing.T) {
	t.Parallel()
	first, second, other := draw(7, entryPoint{}, 500), draw(7, entryPoint{}, 500), draw(8, entryPoint{}, 500)
	assert.Equal(t, first, second)
	assert.NotEqual(t, first, other)
}

// runInBubble runs a scenario in virtual time.
func runInBubble(t *testing.T, w *scenario, is wrong) (r *report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		defer end()
		r = w.run(life, is.around(life))
	})
	return r
}

// A transport cannot make these errors wrong, because the client makes them: the calls are
// invented.
func TestChaosFindsWrongErrors(t *testing.T) {
	t.Parallel()
	lost := func(err error) error { return &petstore.TransportError{Operation: "listPets", Err: err} }
	for want, c := range map[string]*call{
		"outcome: ":               {},
		"error: a *errors":        {err: errors.New("no type of ours")},
		"error: 7 bytes":          {err: errors.New("one\ntwo")},
		"key: ":                   {err: lost(errors.New("no " + key))},
		"error: it matches":       {err: lost(context.Canceled)},
		"error: it does not":      {err: lost(context.Canceled), over: true},
		"error: a read":           {err: lost(petstore.ErrOutcomeUnknown)},
		"wait: ":                  {err: lost(io.EOF), took: time.Hour},
		"attempts: 0, reported 3": {err: &petstore.APIError{Response: petstore.Response{Attempts: 3}}},
		"read: 21 pets":           {result: &petstore.ListPetsResult{Pets: make([]petstore.Pet, 21)}},
		"read: {ID:1 Name:Nobody": {result: &petstore.GetPetResult{Pet: petstore.Pet{ID: 1, Name: "Nobody"}}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := &report{scenario: &scenario{}}
			c.operation = petstore.OpListPets
			r.checkCall(c, &catalogue{})
			assert.True(t, slices.ContainsFunc(r.findings, func(f finding) bool {
				return strings.HasPrefix(f.String(), want)
			}), "%v", r.findings)
		})
	}
}

// again sends r once more. body is a copy of its body: the client's GetBody does not return it
// again.
func again(next http.RoundTripper, r *http.Request, body []byte) (*http.Response, error) {
	again := r.Clone(r.Context())
	if body != nil {
		again.Body = io.NopCloser(bytes.NewReader(body))
	}
	return next.RoundTrip(again)
}

func repeatCreate(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	resp, err := again(next, r, body)
	for i := 0; i < 3 && (err != nil || resp.StatusCode >= 500); i++ {
		if err == nil {
			_ = resp.Body.Close()
		}
		resp, err = again(next, r, body)
	}
	return resp, err
}

func repeatRead(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	for i := 0; i < 10 && r.Method == http.MethodGet; i++ {
		if resp, err := again(next, r, nil); err == nil {
			_ = resp.Body.Close()
		}
	}
	return next.RoundTrip(r)
}

func refuse(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil && resp.StatusCode >= 500 {
		resp.StatusCode = http.StatusBadRequest
	}
	return resp, err
}

func makeUp(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil || r.Method != http.MethodPost {
		return resp, err
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"id":4711,"name":"Rex","categoryId":1}`)), Request: r,
	}, nil
}

func lose(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusCreated {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// replace changes the body of a response.
func replace(resp *http.Response, with func([]byte) []byte) {
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil {
		resp.ContentLength, text = -1, with(text)
		resp.Header.Del("Content-Length")
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
}

func alter(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		replace(resp, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("Rex"), []byte("Max")) })
	}
	return resp, err
}

func rename(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		text, _ := io.ReadAll(r.Body)
		text = bytes.Replace(text, []byte(" caller "), []byte(" Caller "), 1)
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	return next.RoundTrip(r)
}

func expose(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Api-Key", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	return next.RoundTrip(r)
}

func follow(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil || resp.Header.Get("Location") == "" {
		return resp, err
	}
	_ = resp.Body.Close()
	there, err := resp.Location()
	if err != nil {
		return nil, err
	}
	to := r.Clone(r.Context())
	to.URL = there
	return again(next, to, []byte{})
}

// blind turns a 429 into a 503, and removes the headers of the rate limit.
func blind(_ context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
		resp.Header.Del(name)
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		resp.StatusCode = http.StatusServiceUnavailable
	}
	return resp, nil
}

// endure sends a request once more after its caller has given up.
func endure(life context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil || r.Context().Err() == nil {
		return resp, err
	}
	sleep(time.Minute)
	return again(next, outlive(life, r), []byte{})
}

// outlive makes a request end with the scenario or after an hour, instead of with its context.
func outlive(life context.Context, r *http.Request) *http.Request {
	ctx, cancel := context.WithTimeout(context.WithValue(life, callKey{}, r.Context().Value(callKey{})), time.Hour)
	context.AfterFunc(life, cancel)
	return r.WithContext(ctx)
}

// leave returns a copy of a response without its body, which it neither reads nor closes.
func leave(life context.Context, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(outlive(life, r))
	if err != nil {
		return nil, err
	}
	left := *resp
	left.Body = http.NoBody
	return &left, nil
}

func fall(context.Context, http.RoundTripper, *http.Request) (*http.Response, error) { panic("fell") }

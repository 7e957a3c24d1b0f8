package chaos

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// These tests check the checks: each of them makes clients that do one thing wrong, and the checks
// must find it.

// wrong sends a request in a way in which no client should. Nil sends it in the right way.
type wrong func(next http.RoundTripper, r *http.Request) (*http.Response, error)

func (w wrong) around(next http.RoundTripper) http.RoundTripper {
	if w == nil {
		return next
	}
	return transport(func(r *http.Request) (*http.Response, error) { return w(next, r) })
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip calls t.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// changes returns a wrong client: one that changes each response.
func changes(change func(*http.Response)) wrong {
	return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			change(resp)
		}
		return resp, err
	}
}

func TestChaosFindsWrongClients(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct {
		wrong wrong
		rules []string
	}{
		"repeats a failed create":     {repeatCreate, []string{"sent again", "duplicate", string(fake.RuleRepeatedCreate)}},
		"repeats a read for ever":     {repeatRead, []string{"too many requests", "attempts"}},
		"takes failures for refusals": {changes(refuse), []string{"not done", "outcome"}},
		"invents responses":           {makeUp, []string{"done", "outcome"}},
		"loses responses":             {lose, []string{"lost", "outcome"}},
		"changes pets in responses":   {changes(alter), []string{"read"}},
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
	find(t, changes(blind), []string{string(fake.RuleEarlyRetry), string(fake.RuleBanProvoked), "limit", "sent too early"},
		func(w *scenario) { w.plan, w.changes = fake.Plan{PerMinute: 10}, nil })
}

// find runs scenarios until the checks have found that a client breaks the rules. It may take
// several: whether a scenario has calls to which a rule applies depends on what was drawn, and
// every new kind of failure changes the draw.
func find(t *testing.T, is wrong, rules []string, change func(*scenario)) {
	t.Helper()
	const most = 20
	missing := rules
	for seed := range uint64(most) {
		entries := entryPoints[:3]
		w := draw(seed, entries[seed%uint64(len(entries))], 120)
		change(w)
		findings := runInBubble(t, w, is).findings
		missing = slices.DeleteFunc(slices.Clone(missing), func(rule string) bool {
			return slices.ContainsFunc(findings, func(f finding) bool { return f.rule == rule })
		})
		if len(missing) == 0 {
			return
		}
	}
	assert.Empty(t, missing, "the rules that the checks did not find broken in %d scenarios", most)
}

// The client makes these errors, so a wrong transport cannot change them. Therefore this test
// invents the calls.
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
		"read: {ID:1 Name:Nobody": {result: &petstore.ListPetsResult{Pets: []petstore.Pet{{ID: 1, Name: "Nobody"}}}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := &report{scenario: &scenario{}}
			c.operation = operations[0]
			r.checkCall(c, &catalogue{})
			assert.True(t, slices.ContainsFunc(r.findings, func(f finding) bool {
				return strings.HasPrefix(f.String(), want)
			}), "%v", r.findings)
		})
	}
}

// again sends r once more. body is a copy of its body.
func again(next http.RoundTripper, r *http.Request, body []byte) (*http.Response, error) {
	again := r.Clone(r.Context())
	if body != nil {
		again.Body = io.NopCloser(bytes.NewReader(body))
	}
	return next.RoundTrip(again)
}

func repeatCreate(next http.RoundTripper, r *http.Request) (*http.Response, error) {
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

func repeatRead(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	for i := 0; i < 10 && r.Method == http.MethodGet; i++ {
		if resp, err := again(next, r, nil); err == nil {
			_ = resp.Body.Close()
		}
	}
	return next.RoundTrip(r)
}

func refuse(resp *http.Response) {
	if resp.StatusCode >= 500 {
		resp.StatusCode = http.StatusBadRequest
	}
}

func makeUp(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil || r.Method != http.MethodPost {
		return resp, err
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"id":4711,"name":"Rex","categoryId":1}`)), Request: r,
	}, nil
}

func lose(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusCreated {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

func alter(resp *http.Response) {
	if resp.StatusCode != http.StatusOK {
		return
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil {
		resp.ContentLength, text = -1, bytes.ReplaceAll(text, []byte("Rex"), []byte("Max"))
		resp.Header.Del("Content-Length")
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
}

func rename(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		text, _ := io.ReadAll(r.Body)
		text = bytes.Replace(text, []byte(" caller "), []byte(" Caller "), 1)
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	return next.RoundTrip(r)
}

func expose(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Api-Key", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	return next.RoundTrip(r)
}

func follow(next http.RoundTripper, r *http.Request) (*http.Response, error) {
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
func blind(resp *http.Response) {
	for _, name := range []string{"Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
		resp.Header.Del(name)
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		resp.StatusCode = http.StatusServiceUnavailable
	}
}

// endure sends a request once more although its caller has given up.
func endure(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil || r.Context().Err() == nil {
		return resp, err
	}
	sleep(time.Minute)
	return again(next, outlive(r), []byte{})
}

// outlive lets a request go on when its context ends: it ends only with the scenario, or after an
// hour.
func outlive(r *http.Request) *http.Request {
	c := r.Context().Value(callKey{}).(*call)
	ctx, cancel := context.WithTimeout(context.WithValue(c.life, callKey{}, c), time.Hour)
	context.AfterFunc(c.life, cancel)
	return r.WithContext(ctx)
}

// leave returns a copy of a response without its body, which it neither reads nor closes.
func leave(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(outlive(r))
	if err != nil {
		return nil, err
	}
	left := *resp
	left.Body = http.NoBody
	return &left, nil
}

func fall(http.RoundTripper, *http.Request) (*http.Response, error) { panic("fell") }

package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The bounds of a session.
const (
	patience    = 2 * time.Minute // the longest wait: a minute's window, and a slow clock
	spare       = 1               // requests that are left to other users of the key
	maxResponse = 4 << 20
	timeout     = 30 * time.Second
)

// session is one run against a service. It sends one request at a time and remembers the responses,
// since many clauses look at the same ones.
type session struct {
	// A session is one call of Run or Observe, so that its context may live in it.
	ctx     context.Context
	target  Target
	client  *http.Client
	tag     string // what the names of its pets begin with
	memo    map[request]*exchange
	log     []*exchange
	keyed   *exchange // the last response to the key, whose headers show its quota
	over    *exchange // a 429 that was provoked
	overErr error     // or why there is none
	broken  int       // requests in a row without a response
	stopped error     // why nothing is asked any more
}

func newSession(ctx context.Context, target Target) (*session, error) {
	base, err := url.Parse(target.BaseURL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("conformance: Target.BaseURL must be an http or https address")
	case base.RawQuery != "" || base.Fragment != "" || base.User != nil:
		return nil, errors.New("conformance: Target.BaseURL must have no user, query or fragment")
	case target.APIKey == "":
		return nil, errors.New("conformance: Target.APIKey is missing")
	}
	target.BaseURL = strings.TrimRight(target.BaseURL, "/")
	target.CategoryID = cmp.Or(target.CategoryID, 1)
	client := &http.Client{Timeout: timeout}
	if target.HTTPClient != nil {
		own := *target.HTTPClient
		client = &own
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &session{
		ctx:    ctx,
		target: target,
		client: client,
		tag:    fmt.Sprintf("petstore-go conformance %06x", rand.IntN(1<<24)),
		memo:   make(map[request]*exchange),
	}, nil
}

// ask returns the response to a request, from memory if it was sent before.
func (s *session) ask(r request) *exchange {
	if s.memo[r] == nil {
		s.memo[r] = s.askPolitely(r)
	}
	return s.memo[r]
}

// askPolitely waits for the key's quota before a request, and as long as a 429 says after one.
func (s *session) askPolitely(r request) *exchange {
	s.awaitQuota(r)
	x := s.send(r)
	if x.status != http.StatusTooManyRequests {
		return x
	}
	s.waitUntil(comeBack(x), "a 429")
	if x = s.send(r); x.status == http.StatusTooManyRequests {
		s.stop(skip("the service sent another 429 after the wait that the first had asked for"))
	}
	return x
}

// awaitQuota waits for the next window if this one is nearly used up.
func (s *session) awaitQuota(r request) {
	if s.keyed == nil || !r.auth.valid() {
		return
	}
	if q := s.keyed.quota(); q.known && q.remaining <= spare {
		end := local(s.keyed, time.Unix(q.reset, 0))
		s.keyed = nil
		s.waitUntil(end, "a short quota")
	}
}

// stop ends the check, and every other that would send a request.
func (s *session) stop(err error) {
	s.stopped = err
	fail(err)
}

// send sends a request, whatever the quota is.
func (s *session) send(r request) *exchange {
	if s.stopped != nil {
		fail(s.stopped)
	}
	x, err := s.roundTrip(r)
	if err != nil {
		err = fmt.Errorf("the service did not answer %s %s: %w", r.method, r.path, err)
		s.broken++
		if s.broken > 1 {
			s.stop(err) // it is down, and forty timeouts would show no more
		}
		fail(err)
	}
	s.broken = 0
	s.log = append(s.log, x)
	if r.auth.valid() {
		s.keyed = x
	}
	return x
}

func (s *session) roundTrip(r request) (*exchange, error) {
	target := s.target.BaseURL + r.path
	req, err := http.NewRequestWithContext(s.ctx, r.method, target, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.body == "" {
		req.Body = http.NoBody
	}
	if r.media != "" {
		req.Header.Set("Content-Type", r.media)
	}
	if auth := r.auth.header(s.target.APIKey); auth != "" {
		req.Header.Set("Authorization", auth)
	}
	req.Header.Set("Accept", mediaJSON)
	req.Header.Set("User-Agent", "petstore-go-conformance")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, err
	}
	x := &exchange{request: r, status: resp.StatusCode, header: resp.Header.Clone(), response: body, at: time.Now()}
	x.redact(s.target.APIKey)
	return x, nil
}

// waitUntil waits, or stops the session if that takes longer than a test should.
func (s *session) waitUntil(end time.Time, why string) {
	d := time.Until(end)
	if d > patience {
		s.stop(skip(fmt.Sprintf("%s asks for a wait until %s, which is too long: the quota is used up",
			why, end.UTC().Format(time.RFC3339))))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
		fail(context.Cause(s.ctx))
	}
}

// local turns a time of the service's clock into one of this side's. The Date header has a grain of
// a second and is rounded down, so that the result is never too early.
func local(x *exchange, t time.Time) time.Time { return x.at.Add(t.Sub(x.date())) }

// comeBack returns when a 429 allows the next request: the latest of what it says, or in a minute
// if it does not say.
func comeBack(x *exchange) time.Time {
	ends := []time.Time{x.at}
	if q := x.quota(); q.known {
		ends = append(ends, local(x, time.Unix(q.reset, 0)))
	}
	value := x.header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 && seconds < 1e9 {
		ends = append(ends, x.at.Add(time.Duration(seconds*float64(time.Second))))
	}
	if date, err := http.ParseTime(value); err == nil {
		ends = append(ends, local(x, date))
	}
	if end := slices.MaxFunc(ends, time.Time.Compare); end.After(x.at) {
		return end
	}
	return x.at.Add(time.Minute)
}

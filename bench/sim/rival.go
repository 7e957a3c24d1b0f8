package sim

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/headers"
	"github.com/petstore/petstore-go/internal/quota"
)

// The rivals read the headers, as clients of other services do. Each is a transport that sends a
// request again after a 429, when the service allows.

// serial has one request in flight, as the clients discord.js, twilight, nirn-proxy and prawcore
// have for each route. It waits for Reset when nothing is left, and for Retry-After after a 429.
type serial struct {
	http.RoundTripper
	turn chan time.Time // has the earliest time of the next request, until somebody takes it to send one
}

func newSerial(via http.RoundTripper) http.RoundTripper {
	s := serial{via, make(chan time.Time, 1)}
	s.turn <- time.Time{}
	return s
}

func (s serial) RoundTrip(r *http.Request) (*http.Response, error) {
	inTurn(r.Context())
	var from time.Time
	select {
	case from = <-s.turn:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	defer func() { s.turn <- from }()
	for {
		if err := sleep(r.Context(), time.Until(from)); err != nil {
			return nil, err
		}
		resp, err := s.RoundTripper.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		h := read(resp)
		if h.known() && h.Remaining == 0 {
			from = h.Reset
		}
		if resp.StatusCode != http.StatusTooManyRequests {
			return resp, nil
		}
		_ = resp.Body.Close()
		from = time.Now().Add(h.retryAfter)
	}
}

// counter counts down from the lowest Remaining of the window. At its end, and after a 429, one
// request goes ahead; another one follows if it has no response after a second.
type counter struct {
	http.RoundTripper

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, with the response that others wait for
	left    int
	reset   time.Time // end of the window; zero if none is known
	closed  time.Time // nothing is sent before
	probed  time.Time // when the request that goes ahead was sent; zero without one
}

func newCounter(via http.RoundTripper) http.RoundTripper {
	return &counter{RoundTripper: via, changed: make(chan struct{})}
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	inTurn(r.Context())
	for {
		if err := c.admit(r.Context()); err != nil {
			return nil, err
		}
		resp, err := c.RoundTripper.RoundTrip(r)
		c.settle(resp)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests {
			return resp, err
		}
		_ = resp.Body.Close()
	}
}

// admit waits until a request may be sent.
func (c *counter) admit(ctx context.Context) error {
	for {
		again, changed := c.try(time.Now())
		if again.IsZero() {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(time.Until(again)):
		case <-ctx.Done():
			return ctx.Err()
		}
		inTurn(ctx)
	}
}

// try admits a request, or returns when to try again if there is no response before.
func (c *counter) try(now time.Time) (again time.Time, changed chan struct{}) {
	const patience = time.Second
	c.mu.Lock()
	defer c.mu.Unlock()
	switch over := !now.Before(c.reset); {
	case now.Before(c.closed):
		return c.closed, c.changed
	case over && now.Before(c.probed.Add(patience)):
		return c.probed.Add(patience), c.changed
	case over:
		c.probed = now
	case c.left <= 0:
		return c.reset, c.changed
	default:
		c.left--
	}
	return time.Time{}, nil
}

func (c *counter) settle(resp *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.probed.IsZero() {
		defer func() { close(c.changed); c.changed = make(chan struct{}) }()
	}
	c.probed = time.Time{}
	if resp == nil {
		return
	}
	h := read(resp)
	if next := h.Reset.Sub(c.reset) > 30*time.Second || !time.Now().Before(c.reset); h.known() && next {
		c.left, c.reset = h.Remaining, h.Reset
	} else if h.known() {
		c.left = min(c.left, h.Remaining)
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		c.closed, c.left = time.Now().Add(h.retryAfter), 0
	}
}

// reading is what a rival reads in a response. Reset is by the local clock, rounded up by a second,
// and an absurd one is a minute from now.
type reading struct {
	quota.RateLimit

	retryAfter time.Duration
}

func read(resp *http.Response) reading {
	now, date := time.Now(), time.Now()
	if d := headers.Date(resp.Header); !d.IsZero() {
		date = d
	}
	r := reading{headers.RateLimit(resp.Header), headers.RetryAfter(resp.Header, date, now)}
	if r.retryAfter == 0 {
		r.retryAfter = time.Minute
	}
	in := r.Reset.Sub(date.Truncate(time.Second))
	if in <= 0 || in > 25*time.Hour {
		in = time.Minute
	}
	r.Reset = now.Add(in + time.Second)
	return r
}

// known reports whether the response had rate limit headers.
func (r reading) known() bool { return r.Limit > 0 }

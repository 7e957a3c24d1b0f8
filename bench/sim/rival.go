package sim

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The rivals from the literature, each written from its published description. They are limiters in
// front of every attempt of go-retryablehttp.

// governor decides when a request may leave, and learns from each response.
type governor interface {
	// delay reserves one request, and returns how long it has to wait.
	delay(now time.Time) time.Duration
	observe(resp *http.Response, now time.Time)
}

// governed asks a governor before each request.
type governed struct {
	http.RoundTripper
	governor governor
	mu       *sync.Mutex // of the governor
}

func (g governed) RoundTrip(r *http.Request) (*http.Response, error) {
	inTurn(r.Context())
	g.mu.Lock()
	wait := g.governor.delay(time.Now())
	g.mu.Unlock()
	if err := sleep(r.Context(), wait); err != nil {
		return nil, err
	}
	resp, err := g.RoundTripper.RoundTrip(r)
	if err == nil {
		g.mu.Lock()
		g.governor.observe(resp, time.Now())
		g.mu.Unlock()
	}
	return resp, err
}

// governedBy returns a function that puts a new governor ahead of a transport.
func governedBy(newGovernor func() governor) func(cell, http.RoundTripper) http.RoundTripper {
	return func(_ cell, via http.RoundTripper) http.RoundTripper {
		return governed{via, newGovernor(), new(sync.Mutex)}
	}
}

// bucket is a token bucket of which rate and capacity change.
type bucket struct {
	rate, capacity, tokens float64
	at                     time.Time
}

func (b *bucket) refill(now time.Time) {
	if !b.at.IsZero() {
		b.tokens = min(b.capacity, b.tokens+b.rate*now.Sub(b.at).Seconds())
	}
	b.at = now
}

// take reserves a token, and returns how long it is until there is one.
func (b *bucket) take(now time.Time) time.Duration {
	b.refill(now)
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}

// tokenBucket adapts its rate to the congestion that it infers (ATB of arXiv 2510.04516): more by
// steps while requests are admitted, half when one is rejected. The steps are ours: the description
// has no figures for a service that counts by the minute.
type tokenBucket struct {
	bucket
	halved time.Time
}

func newTokenBucket() governor {
	return &tokenBucket{bucket: bucket{rate: 10, capacity: 10, tokens: 10}}
}

func (t *tokenBucket) delay(now time.Time) time.Duration { return t.take(now) }

func (t *tokenBucket) observe(resp *http.Response, now time.Time) {
	t.refill(now)
	switch {
	case resp.StatusCode != http.StatusTooManyRequests:
		t.rate = min(t.rate+0.05, 100)
	case now.Sub(t.halved) > time.Second: // the rejections of a round are one congestion
		t.rate, t.halved = max(t.rate/2, 0.1), now
	}
	t.capacity = max(1, t.rate)
}

// prawPacing spreads what remains over the time to Reset, as PRAW does: a request waits as long as
// the window's use is ahead of its time, for at most ten seconds, and for the Reset when nothing
// remains.
type prawPacing struct{ next time.Time }

func newPRAW() governor { return &prawPacing{} }

func (p *prawPacing) delay(now time.Time) time.Duration { return max(0, p.next.Sub(now)) }

func (p *prawPacing) observe(resp *http.Response, now time.Time) {
	limit, err := strconv.Atoi(resp.Header.Get(headerLimit))
	remaining, err2 := strconv.Atoi(resp.Header.Get(headerRemaining))
	reset, err3 := strconv.ParseInt(resp.Header.Get(headerReset), 10, 64)
	date, err4 := http.ParseTime(resp.Header.Get("Date"))
	if err != nil || err2 != nil || err3 != nil || err4 != nil || limit <= 0 {
		return
	}
	left := time.Unix(reset, 0).Sub(date)
	if remaining <= 0 {
		p.next = now.Add(left)
		return
	}
	used := time.Duration(float64(time.Minute) * float64(limit-remaining) / float64(limit))
	ahead := left - (time.Minute - used)
	p.next = now.Add(min(max(ahead, 0), 10*time.Second, max(left, 0)))
}

// awsAdaptive is the client-side rate limiter of the AWS SDKs' adaptive retry mode: nothing until
// the first rejection, then a token bucket whose rate follows a cubic curve around the rate of the
// last one.
type awsAdaptive struct {
	bucket
	enabled                  bool
	measured, lastMax, count float64
	slot                     int64 // half a second of the measured rate
	begun, throttled         time.Time
}

const (
	awsBeta  = 0.7 // what is left of the rate after a rejection
	awsScale = 0.4 // of the cubic curve
)

func newAWS() governor { return &awsAdaptive{bucket: bucket{rate: 0.5, capacity: 1}} }

func (a *awsAdaptive) delay(now time.Time) time.Duration {
	if !a.enabled {
		return 0
	}
	return a.take(now)
}

func (a *awsAdaptive) observe(resp *http.Response, now time.Time) {
	a.measure(now)
	var rate float64
	if resp.StatusCode == http.StatusTooManyRequests {
		a.lastMax = a.measured
		if a.enabled {
			a.lastMax = min(a.measured, a.rate)
		}
		a.throttled, a.enabled = now, true
		rate = a.lastMax * awsBeta
	} else {
		since := now.Sub(a.throttled).Seconds() - math.Cbrt(a.lastMax*(1-awsBeta)/awsScale)
		rate = awsScale*since*since*since + a.lastMax
	}
	a.refill(now)
	a.rate = max(min(rate, 2*a.measured), 0.5)
	a.capacity = max(a.rate, 1)
	a.tokens = min(a.tokens, a.capacity)
}

// measure smooths the rate at which responses come, by half seconds.
func (a *awsAdaptive) measure(now time.Time) {
	if a.begun.IsZero() {
		a.begun = now
	}
	a.count++
	if slot := int64(now.Sub(a.begun) / (500 * time.Millisecond)); slot > a.slot {
		rate := a.count / (float64(slot-a.slot) / 2)
		a.measured = 0.8*rate + 0.2*a.measured
		a.count, a.slot = 0, slot
	}
}

// inTurn orders what the callers do at one instant by the seed.
func inTurn(ctx context.Context) {
	if t, ok := ctx.Value(tripKey{}).(*trip); ok {
		_ = sleep(ctx, t.offset())
	}
}

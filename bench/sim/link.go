package sim

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// link is the network between a contender and the service: it takes time, loses what the cell says
// is lost, and records the responses.
type link struct {
	cell    cell
	server  *fake.Server
	service http.RoundTripper
	sent    atomic.Int64
	strays  sync.WaitGroup // requests whose callers have gone

	mu sync.Mutex
	record
}

// record is what the service had to do with the contender. Times are from the start of the run.
type record struct {
	start     time.Time
	accepted  []time.Duration
	rejected  []time.Duration
	perWindow map[int64]int // rejections
	bans      int
	banEnd    time.Time
}

func newLink(c cell, s *fake.Server) *link {
	return &link{
		cell: c, server: s, service: s.Transport(),
		record: record{start: time.Now(), perWindow: map[int64]int{}},
	}
}

// RoundTrip carries a request to the service and its response back.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	if t, ok := r.Context().Value(tripKey{}).(*trip); ok {
		_ = sleep(r.Context(), t.offset())
		began := time.Now()
		defer func() { t.took += time.Since(began) + t.offset() }()
	}
	i := int(l.sent.Add(1) - 1)
	leg := l.cell.leg(i)
	began := time.Now()
	if err := sleep(r.Context(), leg.out); err != nil {
		l.stray(r, leg, time.Until(began.Add(leg.out)))
		return nil, err
	}
	if leg.fate == undialled {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	resp, err := l.arrive(r)
	if err != nil {
		return nil, err
	}
	err = sleep(r.Context(), leg.back)
	if err == nil && leg.fate == lost {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	if change := l.cell.condition.header; change != nil {
		change(resp.Header, l.server.Now(), i)
	}
	return resp, nil
}

// stray lets a request arrive that was on its way when its caller gave up.
func (l *link) stray(r *http.Request, leg leg, left time.Duration) {
	if leg.fate == undialled {
		return
	}
	r = r.WithContext(context.WithoutCancel(r.Context()))
	l.strays.Go(func() {
		_ = sleep(r.Context(), left) // a context that never ends
		if resp, err := l.arrive(r); err == nil {
			_ = resp.Body.Close()
		}
	})
}

// arrive gives a request to the service, and records the response.
func (l *link) arrive(r *http.Request) (*http.Response, error) {
	resp, err := l.service.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Since(l.start)
	if l.cell.condition.hidden {
		showMinute(resp, l.server.Usage(l.server.APIKey()))
	}
	if resp.StatusCode != http.StatusTooManyRequests {
		l.accepted = append(l.accepted, now)
		return resp, nil
	}
	l.rejected = append(l.rejected, now)
	usage := l.server.Usage(l.server.APIKey())
	l.perWindow[l.window(usage, now)]++
	if usage.BannedUntil.After(l.banEnd) {
		l.bans++
		l.banEnd = usage.BannedUntil
	}
	return resp, nil
}

// window names the window that a request meets: by its end, or, as sliding ones have none that
// stays, by the minute of the run.
func (l *link) window(usage fake.Usage, now time.Duration) int64 {
	if l.cell.window == fake.WindowSliding {
		return int64(now / time.Minute)
	}
	return usage.MinuteReset.Unix()
}

// sleep waits for d, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// showMinute has the headers show the window of the minute, as used up by a 429.
func showMinute(resp *http.Response, u fake.Usage) {
	left := u.Plan.PerMinute - u.Minute
	if resp.StatusCode == http.StatusTooManyRequests {
		left = 0
	}
	resp.Header.Set(headerLimit, strconv.Itoa(u.Plan.PerMinute))
	resp.Header.Set(headerRemaining, strconv.Itoa(left))
	resp.Header.Set(headerReset, strconv.FormatInt(u.MinuteReset.Unix(), 10))
}

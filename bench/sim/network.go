package sim

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"time"
)

// leg is the way of one request to the service and back.
type leg struct {
	out, back time.Duration
	lost      bool // counted by the service, and the connection is reset before the response
	undialled bool // there is no connection, and the service never sees it
}

// leg returns what happens to the i-th request that is sent, counted from 0. Time passes before and
// after the service counts the request, so that requests and responses overtake each other.
func (c cell) leg(i int) leg {
	const least, most = 20 * time.Millisecond, 200 * time.Millisecond
	r := c.chance(i)
	total := least + time.Duration(r.Int64N(int64(most-least)))
	l := leg{out: time.Duration(float64(total) * (0.1 + 0.8*r.Float64()))}
	l.back = total - l.out
	p := r.Float64()
	if p < c.slow {
		l.back += 10 * time.Second
	}
	l.lost, l.undialled = p < c.lost, p < c.undialled
	return l
}

// RoundTrip is the network: it carries a request to the service and its response back. This takes
// time, and some of them are lost, as the cell says.
func (r *run) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	g, _ := ctx.Value(callerKey{}).(int)
	if err := sleep(ctx, r.offset(g)); err != nil {
		return nil, err
	}
	i := int(r.sent.Add(1) - 1)
	leg := r.leg(i)
	began := time.Now()
	if err := sleep(ctx, leg.out); err != nil {
		r.stray(req, leg, time.Until(began.Add(leg.out)))
		return nil, err
	}
	if leg.undialled {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	resp := r.arrive(req)
	err := sleep(ctx, leg.back)
	if err == nil && leg.lost {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	r.distort(resp.Header, r.server.Now(), i)
	return resp, nil
}

// stray lets a request arrive that was on its way when its caller gave up.
func (r *run) stray(req *http.Request, leg leg, left time.Duration) {
	if leg.undialled {
		return
	}
	r.strays.Go(func() {
		pause(left)
		_ = r.arrive(req.WithContext(context.WithoutCancel(req.Context()))).Body.Close()
	})
}

// arrive gives a request to the service, and counts 429s and bans.
func (r *run) arrive(req *http.Request) *http.Response {
	recorder := httptest.NewRecorder()
	r.server.ServeHTTP(recorder, req)
	resp := recorder.Result()
	if resp.StatusCode != http.StatusTooManyRequests {
		return resp
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rejected++
	if until := r.server.Usage(r.server.APIKey()).BannedUntil; until.After(r.banEnd) {
		r.bans++
		r.banEnd = until
	}
	return resp
}

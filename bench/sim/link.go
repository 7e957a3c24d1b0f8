package sim

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// RoundTrip is the network: it carries a request to the service and its response back, takes time,
// loses what the cell says is lost, and records the responses.
func (r *run) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if t, ok := ctx.Value(tripKey{}).(*trip); ok {
		_ = sleep(ctx, t.offset())
		began := time.Now()
		defer func() { t.took += time.Since(began) + t.offset() }()
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

// arrive gives a request to the service, and counts rejections.
func (r *run) arrive(req *http.Request) *http.Response {
	recorder := httptest.NewRecorder()
	r.server.ServeHTTP(recorder, req)
	resp := recorder.Result()
	r.mu.Lock()
	defer r.mu.Unlock()
	usage := r.server.Usage(r.server.APIKey())
	if resp.StatusCode != http.StatusTooManyRequests {
		return resp
	}
	window := usage.MinuteReset.Unix()
	if r.window == fake.WindowSliding { // has no end that stays: the minute of the run
		window = int64(time.Since(r.start) / time.Minute)
	}
	r.perWindow[window]++
	if usage.BannedUntil.After(r.banEnd) {
		r.bans++
		r.banEnd = usage.BannedUntil
	}
	return resp
}

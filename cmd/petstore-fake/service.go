package main

import (
	"context"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// service is the fake as this program serves it: with latency, a log, and a count for the page.
type service struct {
	srv     *fake.Server
	latency *latency
	traffic *traffic
	feed    *feed
	log     *requestLog // nil for none
}

// ServeHTTP answers a request of the service.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o := &observer{ResponseWriter: w, request: r}
	begun := time.Now()
	// Deferred, since the fake breaks a connection off by a panic.
	defer func() {
		s.traffic.add(s.srv.Now(), o.status, o.Header())
		s.feed.touch(0)
		if s.log != nil {
			s.log.write(r, o, time.Since(begun))
		}
	}()
	pause(r.Context(), s.latency.load())
	s.srv.ServeHTTP(o, r)
}

// pause waits for d, or until the client is gone or the program ends. What was sent has then still
// arrived, as at a service that is slow: the fake carries it out.
func pause(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

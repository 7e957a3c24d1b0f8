package main

import (
	"context"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/adminapi"
	"github.com/petstore/petstore-go/fake"
)

// service is the fake as this program serves it: with latency, a log, and a count for the page.
type service struct {
	srv   *fake.Server
	admin *adminapi.API
	log   *requestLog // nil for none
}

// ServeHTTP serves a request of the service.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o := &observer{ResponseWriter: w}
	begun := time.Now()
	// Deferred, because the fake breaks a connection off by a panic.
	defer func() {
		s.admin.Page().Answered(o.status, o.Header())
		if s.log != nil {
			s.log.write(r, o, time.Since(begun))
		}
	}()
	pause(r.Context(), s.admin.Latency())
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

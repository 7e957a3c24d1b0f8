package main

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// service is the fake with a log, which also counts its responses for the request page.
type service struct {
	srv  *fakecontrol.Server
	page *requestpage.Page
	log  *requestLog // nil for none
}

// ServeHTTP serves a request of the service.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o := &observer{ResponseWriter: w}
	begun := time.Now()
	// Deferred, because the fake panics to break a connection.
	defer func() {
		s.page.Answered(r, o.status, o.Header())
		if s.log != nil {
			s.log.write(r, o, time.Since(begun))
		}
	}()
	s.srv.ServeHTTP(o, r)
}

package adminapi

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// maxLatency bounds the latency that an admin route sets; a fault with a delay has no such bound.
const maxLatency = time.Hour

// latency is how long every answer of the service is held back. It is safe for concurrent use.
type latency struct{ d atomic.Int64 }

func (l *latency) load() time.Duration { return time.Duration(l.d.Load()) }

func (l *latency) store(d time.Duration) { l.d.Store(int64(d)) }

// shownLatency is the latency as the admin routes show and take it.
type shownLatency struct {
	Latency string `json:"latency"`
}

// getLatency handles GET /_fake/latency.
func (a *API) getLatency(*http.Request) (any, error) {
	return shownLatency{a.latency.load().String()}, nil
}

// setLatency handles PUT /_fake/latency.
func (a *API) setLatency(r *http.Request) (any, error) {
	var body shownLatency
	if err := httpjson.ReadInto(r, &body); err != nil {
		return nil, err
	}
	d, err := spec.ParseDuration(body.Latency)
	switch {
	case err != nil:
		return nil, httpjson.BadRequest("latency: %v", err)
	case d > maxLatency:
		return nil, httpjson.BadRequest("latency: %v is more than %v", d, maxLatency)
	}
	a.latency.store(d)
	return a.getLatency(r)
}

package adminapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

const (
	// maxAdvance bounds a step of the clock and a ban: 100 years, more than any test needs.
	maxAdvance = 100 * 365 * 24 * time.Hour
	// maxLatency bounds the latency, so that a mistake does not stop the service for good. The
	// delay of a fault has no such bound.
	maxLatency = time.Hour
)

func (a *API) clock(*http.Request) (any, error) {
	return map[string]any{"now": a.srv.Now().UTC().Round(0), "advanced": a.page.Ahead().String()}, nil
}

func (a *API) advance(r *http.Request) (any, error) {
	d, err := httpjson.ReadField(r, "advance", spec.DurationBetween(0, maxAdvance))
	if err != nil {
		return nil, err
	}
	a.mu.Lock() // no other step may come between the check and this step
	defer a.mu.Unlock()
	if err := spec.CheckTime(a.srv.Now().Add(d)); err != nil {
		return nil, fmt.Errorf("advance: %w", err)
	}
	a.srv.Advance(d)
	return a.clock(r)
}

func (a *API) setClock(r *http.Request) (any, error) {
	t, err := httpjson.ReadField(r, "time", spec.ParseTime)
	if err != nil {
		return nil, err
	}
	a.srv.SetTime(t)
	return a.clock(r)
}

func (a *API) getLatency(*http.Request) (any, error) {
	return map[string]string{"latency": a.srv.Latency().String()}, nil
}

func (a *API) setLatency(r *http.Request) (any, error) {
	d, err := httpjson.ReadField(r, "latency", spec.DurationBetween(0, maxLatency))
	if err != nil {
		return nil, err
	}
	a.srv.SetLatency(d)
	return a.getLatency(r)
}

package adminapi

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

const (
	// maxAdvance bounds one step of the clock.
	maxAdvance = 100 * 365 * 24 * time.Hour
	// maxLatency bounds the latency that an admin route sets; a fault with a delay has no such bound.
	maxLatency = time.Hour
)

// shownClock is the service's time.
type shownClock struct {
	Now time.Time `json:"now"`
	// Advanced is how far the service's time is ahead of the machine's.
	Advanced string `json:"advanced"`
}

// clock handles GET /_fake/clock.
func (a *API) clock(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.showClock(), nil
}

// showClock returns the service's time. The caller holds mu.
func (a *API) showClock() shownClock {
	return shownClock{a.srv.Now().UTC().Round(0), a.ahead.String()}
}

// compareClocks notes how far the service's time is ahead of the machine's, in whole seconds, since
// the two clocks are not read at the same moment. The caller holds mu.
func (a *API) compareClocks() {
	a.ahead = time.Until(a.srv.Now()).Round(time.Second)
}

// advance handles POST /_fake/clock.
func (a *API) advance(r *http.Request) (any, error) {
	var body struct {
		Advance string `json:"advance"`
	}
	if err := httpjson.ReadInto(r, &body); err != nil {
		return nil, err
	}
	d, err := spec.ParseDuration(body.Advance)
	if err != nil {
		return nil, httpjson.BadRequest("advance: %v", err)
	}
	a.mu.Lock() // between the check and the step, no other step may come
	defer a.mu.Unlock()
	if d > maxAdvance {
		return nil, httpjson.BadRequest("advance: %v is more than %v", d, maxAdvance)
	}
	if err := spec.CheckTime(a.srv.Now().Add(d)); err != nil {
		return nil, httpjson.BadRequest("advance: %v", err)
	}
	a.srv.Advance(d)
	a.ahead += d
	return a.showClock(), nil
}

// setClock handles PUT /_fake/clock.
func (a *API) setClock(r *http.Request) (any, error) {
	var body struct {
		Time string `json:"time"`
	}
	if err := httpjson.ReadInto(r, &body); err != nil {
		return nil, err
	}
	t, err := spec.ParseTime(body.Time)
	if err != nil {
		return nil, httpjson.BadRequest("time: %v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.srv.SetTime(t)
	a.compareClocks()
	return a.showClock(), nil
}

// shownLatency is the latency as the admin routes show and take it.
type shownLatency struct {
	Latency string `json:"latency"`
}

// getLatency handles GET /_fake/latency.
func (a *API) getLatency(*http.Request) (any, error) {
	return shownLatency{a.srv.Latency().String()}, nil
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
	a.srv.SetLatency(d)
	return a.getLatency(r)
}

package main

import (
	"net/http"
	"time"
)

// maxAdvance bounds how far the clock moves in all: what is added to it is an int64 of nanoseconds.
const maxAdvance = 100 * 365 * 24 * time.Hour

// shownClock is the service's time.
type shownClock struct {
	Now      time.Time `json:"now"`
	Advanced string    `json:"advanced"`
}

// clock answers GET /_fake/clock.
func (a *admin) clock(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return shownClock{a.srv.Now().UTC().Round(0), a.advanced.String()}, nil
}

// advance answers POST /_fake/clock.
func (a *admin) advance(r *http.Request) (any, error) {
	var body struct {
		Advance string `json:"advance"`
	}
	if err := readInto(r, &body); err != nil {
		return nil, err
	}
	d, err := parseDuration(body.Advance)
	if err != nil {
		return nil, badRequest("advance: %v", err)
	}
	a.mu.Lock()
	if d > maxAdvance-a.advanced {
		a.mu.Unlock()
		return nil, badRequest("advance: the clock would be more than %v ahead", maxAdvance)
	}
	a.advanced += d
	a.srv.Advance(d)
	a.mu.Unlock()
	return a.clock(r)
}

package adminapi

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// maxAdvance bounds how far the clock moves in all: what is added to it is an int64 of nanoseconds.
const maxAdvance = 100 * 365 * 24 * time.Hour

// shownClock is the service's time.
type shownClock struct {
	Now      time.Time `json:"now"`
	Advanced string    `json:"advanced"`
}

// clock handles GET /_fake/clock.
func (a *API) clock(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return shownClock{a.srv.Now().UTC().Round(0), a.advanced.String()}, nil
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
	a.mu.Lock()
	if d > maxAdvance-a.advanced {
		a.mu.Unlock()
		return nil, httpjson.BadRequest("advance: the clock would be more than %v ahead", maxAdvance)
	}
	a.advanced += d
	a.srv.Advance(d)
	a.mu.Unlock()
	return a.clock(r)
}

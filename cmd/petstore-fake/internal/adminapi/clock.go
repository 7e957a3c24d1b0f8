package adminapi

import (
	"fmt"
	"net/http"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

func (a *API) clock(*http.Request) (any, error) {
	return map[string]any{"now": a.srv.Now().UTC().Round(0), "advanced": a.page.Ahead().String()}, nil
}

func (a *API) advance(r *http.Request) (any, error) {
	d, err := readField(r, "advance", spec.ParseDuration)
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
	t, err := readField(r, "time", spec.ParseTime)
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
	d, err := readField(r, "latency", spec.ParseDuration)
	if err != nil {
		return nil, err
	}
	a.srv.SetLatency(d)
	return a.getLatency(r)
}

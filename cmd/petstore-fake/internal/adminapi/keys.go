package adminapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// shownKey is an API key as the admin routes show it.
type shownKey struct {
	ID      int         `json:"id"`
	Key     string      `json:"key"`
	Plan    string      `json:"plan"`
	Revoked bool        `json:"revoked"`
	Minute  shownWindow `json:"minute"`
	Day     shownWindow `json:"day"`
	// BannedUntil is nil for a key that is not banned.
	BannedUntil *time.Time `json:"bannedUntil"`
	Limited     int        `json:"limited"`
}

// shownWindow is a window of a key. Limit and Remaining are nil if the plan has no limit.
type shownWindow struct {
	Used      int       `json:"used"`
	Limit     *int      `json:"limit"`
	Remaining *int      `json:"remaining"`
	Reset     time.Time `json:"reset"`
}

func showWindow(used, limit int, reset time.Time) shownWindow {
	w := shownWindow{Used: used, Reset: reset.UTC()}
	if limit > 0 {
		remaining := max(limit-used, 0)
		w.Limit, w.Remaining = &limit, &remaining
	}
	return w
}

func showKey(k fakecontrol.Key) shownKey {
	s := shownKey{
		ID: k.Number, Key: requestpage.MaskKey(k.APIKey), Plan: k.Plan.String(), Revoked: k.Revoked,
		Minute:  showWindow(k.Minute, k.Plan.PerMinute, k.MinuteReset),
		Day:     showWindow(k.Day, k.Plan.PerDay, k.DayReset),
		Limited: k.Limited,
	}
	if !k.BannedUntil.IsZero() {
		until := k.BannedUntil.UTC()
		s.BannedUntil = &until
	}
	return s
}

func (a *API) listKeys(*http.Request) (any, error) {
	shown := []shownKey{}
	for _, k := range a.srv.Keys() {
		shown = append(shown, showKey(k))
	}
	return map[string]any{"keys": shown}, nil
}

func (a *API) addKey(r *http.Request) (any, error) {
	body, err := httpjson.ReadFields(r, "key", "plan")
	if err != nil {
		return nil, err
	}
	key := body["key"]
	plan, err := fakecontrol.ParsePlan(body["plan"])
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if err := spec.CheckKey(key); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	a.mu.Lock() // a reset in between would remove the key
	defer a.mu.Unlock()
	a.srv.AddKey(key, plan)
	return httpjson.Created{Value: showKey(a.srv.Keys()[a.srv.KeyNumber(key)-1])}, nil
}

// withKey calls f with the key whose id is in the path of a request, and returns its new state.
func (a *API) withKey(r *http.Request, f func(key string)) (any, error) {
	a.mu.Lock() // a reset in between would remove the key, and f would panic
	defer a.mu.Unlock()
	id, ok := httpjson.ID(r)
	keys := a.srv.Keys() // by their numbers, from 1 and without gaps
	if !ok || id < 1 || id > int64(len(keys)) {
		return nil, httpjson.NotFound("there is no key with this id; GET /_fake/keys lists the ids")
	}
	f(keys[id-1].APIKey)
	return showKey(a.srv.Keys()[id-1]), nil
}

func (a *API) getKey(r *http.Request) (any, error) {
	return a.withKey(r, func(string) {})
}

func (a *API) revokeKey(r *http.Request) (any, error) {
	return a.withKey(r, a.srv.RevokeKey)
}

func (a *API) setPlan(r *http.Request) (any, error) {
	plan, err := httpjson.ReadField(r, "plan", fakecontrol.ParsePlan)
	if err != nil {
		return nil, err
	}
	return a.withKey(r, func(key string) { a.srv.SetPlan(key, plan) })
}

func (a *API) ban(r *http.Request) (any, error) {
	d, err := httpjson.ReadField(r, "duration", spec.ParseDuration)
	switch {
	case err != nil:
		return nil, err
	case d == 0:
		return nil, errors.New("duration: 0s is no ban; DELETE lifts one")
	}
	return a.withKey(r, func(key string) { a.srv.BanKey(key, d) })
}

func (a *API) liftBan(r *http.Request) (any, error) {
	return a.withKey(r, func(key string) { a.srv.BanKey(key, 0) })
}

package adminapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// showWindow returns a window of a key. A plan without a limit has no limit and nothing remaining.
func showWindow(used, limit int, reset time.Time) map[string]any {
	shown := map[string]any{"used": used, "limit": nil, "remaining": nil, "reset": reset.UTC()}
	if limit > 0 {
		shown["limit"], shown["remaining"] = limit, max(limit-used, 0)
	}
	return shown
}

// showKey returns an API key as the admin routes show it.
func showKey(k fakecontrol.Key) map[string]any {
	shown := map[string]any{
		"id": k.Number, "key": journal.MaskKey(k.APIKey), "plan": k.Plan.String(), "revoked": k.Revoked,
		"minute":      showWindow(k.Minute, k.Plan.PerMinute, k.MinuteReset),
		"day":         showWindow(k.Day, k.Plan.PerDay, k.DayReset),
		"bannedUntil": nil, "limited": k.Limited,
	}
	if !k.BannedUntil.IsZero() {
		shown["bannedUntil"] = k.BannedUntil.UTC()
	}
	return shown
}

func (a *API) listKeys(*http.Request) (any, error) {
	shown := []map[string]any{}
	for _, k := range a.srv.Keys() {
		shown = append(shown, showKey(k))
	}
	return map[string]any{"keys": shown}, nil
}

func (a *API) addKey(r *http.Request) (any, error) {
	body, err := readFields(r, "key", "plan")
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
	return showKey(a.srv.Keys()[a.srv.KeyNumber(key)-1]), nil
}

// withKey calls f with the key whose id is in the path of a request, and returns its new state.
func (a *API) withKey(r *http.Request, f func(key string)) (any, error) {
	a.mu.Lock() // a reset in between would remove the key, and f would panic
	defer a.mu.Unlock()
	keys := a.srv.Keys() // by their numbers, from 1 and without gaps
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 1 || id > len(keys) {
		return nil, httpjson.Errorf(http.StatusNotFound, "there is no key with this id; GET /_fake/keys lists the ids")
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
	plan, err := readField(r, "plan", fakecontrol.ParsePlan)
	if err != nil {
		return nil, err
	}
	return a.withKey(r, func(key string) { a.srv.SetPlan(key, plan) })
}

func (a *API) ban(r *http.Request) (any, error) {
	d, err := readField(r, "duration", spec.ParseDuration)
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

package adminapi

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
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

func (a *API) showKey(id int) shownKey {
	key, revoked, _ := a.keys.Find(int64(id))
	u := a.srv.Usage(key)
	s := shownKey{
		ID: id, Key: requestpage.MaskKey(key), Plan: spec.PlanText(u.Plan), Revoked: revoked,
		Minute: showWindow(u.Minute, u.Plan.PerMinute, u.MinuteReset),
		Day:    showWindow(u.Day, u.Plan.PerDay, u.DayReset), Limited: u.Limited,
	}
	if !u.BannedUntil.IsZero() {
		until := u.BannedUntil.UTC()
		s.BannedUntil = &until
	}
	return s
}

// listKeys handles GET /_fake/keys.
func (a *API) listKeys(*http.Request) (any, error) {
	shown := []shownKey{}
	for id := 1; id <= a.keys.Len(); id++ {
		shown = append(shown, a.showKey(id))
	}
	return map[string]any{"keys": shown}, nil
}

// addKey handles POST /_fake/keys.
func (a *API) addKey(r *http.Request) (any, error) {
	var body struct {
		Key  string `json:"key"`
		Plan string `json:"plan"`
	}
	if err := httpjson.ReadInto(r, &body); err != nil {
		return nil, err
	}
	plan, err := spec.ParsePlan(body.Plan)
	if err != nil {
		return nil, httpjson.BadRequest("plan: %v", err)
	}
	// The two books must agree, whoever else adds or revokes the same key.
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := spec.Attempt(func() { fake.WithKey(body.Key, plan) }); err != nil {
		return nil, httpjson.BadRequest("key: %v", err)
	}
	id := a.keys.Add(body.Key)
	if id == 0 {
		return nil, httpjson.Errorf(http.StatusConflict, "there are %d keys already", requestpage.MaxKeys)
	}
	a.srv.AddKey(body.Key, plan)
	a.keys.Number(id, a.srv.KeyNumber(body.Key))
	return httpjson.Created{Value: a.showKey(id)}, nil
}

// withKey runs f with the key that the path of a request names, and answers with the key's new state.
func (a *API) withKey(r *http.Request, f func(id int, key string)) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, ok := httpjson.ID(r)
	key, _, found := a.keys.Find(n)
	if !ok || !found {
		return nil, httpjson.NotFound("there is no key with this id; GET /_fake/keys lists the ids")
	}
	f(int(n), key)
	return a.showKey(int(n)), nil
}

// getKey handles GET /_fake/keys/{id}.
func (a *API) getKey(r *http.Request) (any, error) {
	return a.withKey(r, func(int, string) {})
}

// revokeKey handles DELETE /_fake/keys/{id}.
func (a *API) revokeKey(r *http.Request) (any, error) {
	return a.withKey(r, func(id int, key string) {
		a.keys.Revoke(id)
		a.srv.RevokeKey(key)
	})
}

// setPlan handles PUT /_fake/keys/{id}/plan.
func (a *API) setPlan(r *http.Request) (any, error) {
	var body struct {
		Plan string `json:"plan"`
	}
	if err := httpjson.ReadInto(r, &body); err != nil {
		return nil, err
	}
	plan, err := spec.ParsePlan(body.Plan)
	if err != nil {
		return nil, httpjson.BadRequest("plan: %v", err)
	}
	return a.withKey(r, func(_ int, key string) { a.srv.SetPlan(key, plan) })
}

// ban handles PUT /_fake/keys/{id}/ban.
func (a *API) ban(r *http.Request) (any, error) {
	var body struct {
		Duration string `json:"duration"`
	}
	if err := httpjson.ReadInto(r, &body); err != nil {
		return nil, err
	}
	d, err := spec.ParseDuration(body.Duration)
	switch {
	case err != nil:
		return nil, httpjson.BadRequest("duration: %v", err)
	case d == 0 || d > maxAdvance:
		return nil, httpjson.BadRequest("duration: %v is not above 0 and up to %v", d, maxAdvance)
	}
	return a.withKey(r, func(_ int, key string) { a.srv.BanKey(key, d) })
}

// liftBan handles DELETE /_fake/keys/{id}/ban.
func (a *API) liftBan(r *http.Request) (any, error) {
	return a.withKey(r, func(_ int, key string) { a.srv.BanKey(key, 0) })
}

package main

import (
	"fmt"
	"net/http"
	"time"

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

func (a *admin) showKey(id int) shownKey {
	key, revoked, _ := a.keys.find(int64(id))
	u := a.srv.Usage(key)
	s := shownKey{
		ID: id, Key: maskKey(key), Plan: planText(u.Plan), Revoked: revoked,
		Minute: showWindow(u.Minute, u.Plan.PerMinute, u.MinuteReset),
		Day:    showWindow(u.Day, u.Plan.PerDay, u.DayReset), Limited: u.Limited,
	}
	if !u.BannedUntil.IsZero() {
		until := u.BannedUntil.UTC()
		s.BannedUntil = &until
	}
	return s
}

// listKeys answers GET /_fake/keys.
func (a *admin) listKeys(*http.Request) (any, error) {
	shown := []shownKey{}
	for id := 1; id <= a.keys.len(); id++ {
		shown = append(shown, a.showKey(id))
	}
	return map[string]any{"keys": shown}, nil
}

// addKey answers POST /_fake/keys.
func (a *admin) addKey(r *http.Request) (any, error) {
	var body struct {
		Key  string `json:"key"`
		Plan string `json:"plan"`
	}
	if err := readInto(r, &body); err != nil {
		return nil, err
	}
	plan, err := parsePlan(body.Plan)
	if err != nil {
		return nil, badRequest("plan: %v", err)
	}
	// The two books must agree, whoever else adds or revokes the same key.
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := attempt(func() { fake.WithKey(body.Key, plan) }); err != nil {
		return nil, badRequest("key: %v", err)
	}
	id := a.keys.add(body.Key)
	if id == 0 {
		return nil, &problem{http.StatusConflict, fmt.Sprintf("there are %d keys already", maxKeys)}
	}
	a.srv.AddKey(body.Key, plan)
	a.keys.number(id, a.srv.KeyNumber(body.Key))
	return created{a.showKey(id)}, nil
}

// withKey runs f with the key that the path of a request names, and answers with the key's new state.
func (a *admin) withKey(r *http.Request, f func(id int, key string)) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, ok := id(r)
	key, _, found := a.keys.find(n)
	if !ok || !found {
		return nil, notFound("there is no key with this id; GET /_fake/keys lists the ids")
	}
	f(int(n), key)
	return a.showKey(int(n)), nil
}

// getKey answers GET /_fake/keys/{id}.
func (a *admin) getKey(r *http.Request) (any, error) {
	return a.withKey(r, func(int, string) {})
}

// revokeKey answers DELETE /_fake/keys/{id}.
func (a *admin) revokeKey(r *http.Request) (any, error) {
	return a.withKey(r, func(id int, key string) {
		a.keys.revoke(id)
		a.srv.RevokeKey(key)
	})
}

// setPlan answers PUT /_fake/keys/{id}/plan.
func (a *admin) setPlan(r *http.Request) (any, error) {
	var body struct {
		Plan string `json:"plan"`
	}
	if err := readInto(r, &body); err != nil {
		return nil, err
	}
	plan, err := parsePlan(body.Plan)
	if err != nil {
		return nil, badRequest("plan: %v", err)
	}
	return a.withKey(r, func(_ int, key string) { a.srv.SetPlan(key, plan) })
}

// ban answers PUT /_fake/keys/{id}/ban.
func (a *admin) ban(r *http.Request) (any, error) {
	var body struct {
		Duration string `json:"duration"`
	}
	if err := readInto(r, &body); err != nil {
		return nil, err
	}
	d, err := parseDuration(body.Duration)
	switch {
	case err != nil:
		return nil, badRequest("duration: %v", err)
	case d == 0 || d > maxAdvance:
		return nil, badRequest("duration: %v is not above 0 and up to %v", d, maxAdvance)
	}
	return a.withKey(r, func(_ int, key string) { a.srv.BanKey(key, d) })
}

// liftBan answers DELETE /_fake/keys/{id}/ban.
func (a *admin) liftBan(r *http.Request) (any, error) {
	return a.withKey(r, func(_ int, key string) { a.srv.BanKey(key, 0) })
}

package requestpage

import (
	"strconv"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// Key is an API key as the page and the admin routes show it.
type Key struct {
	ID          int        `json:"id"`
	Masked      string     `json:"key"`
	Plan        string     `json:"plan"`
	Revoked     bool       `json:"revoked"`
	Minute      Window     `json:"minute"`
	Day         Window     `json:"day"`
	BannedUntil *time.Time `json:"bannedUntil"` // nil for a key that is not banned
	Limited     int        `json:"limited"`     // 429s so far
}

// Window is a window of a key. Without a limit it has no Limit and nothing Remaining.
type Window struct {
	Name      string    `json:"-"`
	Used      int       `json:"used"`
	Limit     *int      `json:"limit"`
	Remaining *int      `json:"remaining"`
	Reset     time.Time `json:"reset"`
}

// Empty reports whether nothing remains.
func (w Window) Empty() bool { return w.Remaining != nil && *w.Remaining == 0 }

// NewKey returns a key of a fake without showing it.
func NewKey(k fakecontrol.Key) Key {
	shown := Key{
		ID: k.Number, Masked: journal.MaskKey(k.APIKey), Plan: k.Plan.String(), Revoked: k.Revoked, Limited: k.Limited,
		Minute: newWindow("minute", k.Minute, k.Plan.PerMinute, k.MinuteReset),
		Day:    newWindow("day", k.Day, k.Plan.PerDay, k.DayReset),
	}
	if until := k.BannedUntil.UTC(); !until.IsZero() {
		shown.BannedUntil = &until
	}
	return shown
}

func newWindow(name string, used, limit int, reset time.Time) Window {
	w := Window{Name: name, Used: used, Reset: reset.UTC()}
	if limit > 0 {
		remaining := max(limit-used, 0)
		w.Limit, w.Remaining = &limit, &remaining
	}
	return w
}

// Name returns the key as the page names it. Keys may begin alike.
func (k Key) Name() string {
	if k.Masked == fake.DefaultAPIKey {
		return k.Masked
	}
	return k.Masked + " #" + strconv.Itoa(k.ID)
}

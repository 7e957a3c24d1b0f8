package requestpage

import (
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// The bounds of what a page holds: rows, and bytes of a text in one of them.
const (
	maxRows = 200
	maxText = 512
)

// row is a request as the page lists it.
type row struct {
	Seq        int       `json:"seq"`
	Time       time.Time `json:"time"`
	Operation  string    `json:"operation"`
	Method     string    `json:"method"`
	Path       string    `json:"path"`
	KeyID      int       `json:"keyId"`
	Key        string    `json:"key"`
	Status     int       `json:"status"`
	Pending    bool      `json:"pending"` // has no response, and may still get one
	DurationMS float64   `json:"durationMs"`
	Fault      bool      `json:"fault"`
	Hint       string    `json:"hint"`
}

func (s senders) row(r fake.Request) row {
	id, key := s.of(r)
	return row{
		Seq: r.Seq, Time: r.Time.UTC(), Operation: r.Operation,
		Method: Shorten(r.Method), Path: Shorten(r.Path),
		KeyID: id, Key: key, Status: r.StatusCode,
		Pending:    r.StatusCode == 0 && r.Hint == "", // a request that gets no response has a hint why
		DurationMS: milliseconds(r.Duration), Fault: r.Fault, Hint: Shorten(r.Hint),
	}
}

// newestRows returns the last requests that fit, oldest first.
func (p *Page) newestRows(fits func(fake.Request) bool) []row {
	rows, all := []row{}, p.senders()
	r, found := p.srv.LastRequest()
	for found && len(rows) < maxRows {
		if fits(r) {
			rows = append(rows, all.row(r))
		}
		r, found = p.srv.Request(r.Seq - 1)
	}
	slices.Reverse(rows)
	return rows
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Shorten cuts a long text, between two characters.
func Shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

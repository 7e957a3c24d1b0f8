package requestpage

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/replay"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// maxListed bounds the keys, the faults and the pets that the page lists, each.
const maxListed = 100

// MaskKey returns what is shown of a key: enough to recognise it, too little to use it. The default
// key is in the documentation.
func MaskKey(key string) string {
	const shown, long = 3, 12
	switch {
	case key == fake.DefaultAPIKey:
		return key
	case len(key) < long:
		return "…"
	}
	return key[:shown] + "…"
}

// senders are the keys of the fake, masked, by their numbers.
type senders map[int]string

func (p *Page) senders() senders {
	s := make(senders)
	for _, k := range p.srv.Keys() {
		s[k.Number] = MaskKey(k.APIKey)
	}
	return s
}

// of returns the id and the masked form of the key that a request came with, or 0 and the word for
// a request without one.
func (s senders) of(r fake.Request) (id int, text string) {
	if masked, ok := s[r.Key]; ok {
		return r.Key, masked
	}
	return 0, journal.Keyless(r)
}

// public returns the key that a request came with if anybody may see it, and otherwise "".
func (s senders) public(r fake.Request) string {
	if s[r.Key] == fake.DefaultAPIKey {
		return fake.DefaultAPIKey
	}
	return ""
}

// strip is what has changed the service's behaviour since the start.
type strip struct {
	Latency, Ahead time.Duration
	Faults         int // that are active
	Banned         []keyPart
}

// keyPart is a key with its windows.
type keyPart struct {
	ID          int
	Name, Plan  string
	Limited     int
	BannedUntil int64 // Unix time in milliseconds, 0 for a key that is not banned
	Windows     [2]window
}

// window is a window of a key, with a Limit of 0 for none and a zero Reset while it is unused.
type window struct {
	Name        string
	Left, Limit int
	Reset       time.Time
}

// counts are how many requests there are, and how many fit the filters.
type counts struct {
	Fit, Total, Dropped, Listed int
	Filtered                    bool
	Archive                     string // the address of those that fit
	Curl                        string // for a first request
}

// pets are the pets that were added last.
type pets struct {
	Total int
	List  []petstore.Pet
}

func newKeyPart(k fakecontrol.Key) keyPart {
	part := keyPart{
		ID: k.Number, Name: keyText(k.Number, MaskKey(k.APIKey)), Plan: k.Plan.String(), Limited: k.Limited,
		Windows: [2]window{
			newWindow("minute", k.Minute, k.Plan.PerMinute, k.MinuteReset),
			newWindow("day", k.Day, k.Plan.PerDay, k.DayReset),
		},
	}
	if k.Revoked {
		part.Name += " (revoked)"
	}
	if !k.BannedUntil.IsZero() {
		part.BannedUntil = k.BannedUntil.UnixMilli()
	}
	return part
}

func newWindow(name string, used, limit int, reset time.Time) window {
	w := window{Name: name, Left: 1, Limit: limit}
	if limit > 0 {
		w.Left = max(limit-used, 0)
	}
	if used > 0 {
		w.Reset = reset
	}
	return w
}

// parts returns the data of the parts beside the rows, by the names of their templates.
func (v *view) parts() map[string]any {
	srv, now, faults := v.p.srv, v.p.srv.Now(), listFaults(v.p.srv.Injections())
	st := strip{Latency: srv.Latency(), Ahead: v.p.Ahead()}
	for _, f := range faults {
		if f.Active {
			st.Faults++
		}
	}
	all, names, chosen := srv.Keys(), make(map[int]string), keyPart{}
	for _, k := range all[:min(len(all), maxListed)] {
		part := newKeyPart(k)
		if names[part.ID] = part.Name; part.BannedUntil > 0 {
			st.Banned = append(st.Banned, part)
		}
		if part.ID == v.key || part.ID == 1 {
			chosen = part
		}
	}
	slots, left := v.p.traffic.show(now, chosen.ID)
	c := newChart(now, slots, left, chosen.Name)
	n := v.counts(all[0].APIKey)
	return map[string]any{
		"strip": st, "keys": names, "key": chosen, "faults": faults, "pets": newPets(srv.Pets()), "graph": c,
		"legend": c, "violations": v.p.journal.Violations(), "fit": n, "har": n, "shown": n, "chips": v.chips(),
	}
}

func newPets(all []petstore.Pet) pets {
	list := slices.Clone(all[max(len(all)-maxListed, 0):])
	slices.Reverse(list)
	for i := range list {
		list[i].Name = shorten(list[i].Name)
	}
	return pets{len(all), list}
}

// statuses returns the statuses that a pet can have.
func statuses() []petstore.PetStatus {
	return []petstore.PetStatus{"", petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold}
}

// counts counts the requests that fit. key is that of the command for a first request.
func (v *view) counts(key string) counts {
	first, last := v.p.journal.Span()
	filters := v.filters().Encode()
	n := counts{Total: last - first + 1, Dropped: v.p.journal.Dropped(), Archive: "/_fake/har", Filtered: filters != ""}
	if n.Filtered {
		n.Archive += "?" + filters
	}
	n.Fit = n.Total
	if v.fits != nil {
		n.Fit = len(v.fitting)
	}
	n.Listed = min(n.Fit, maxRows)
	if n.Total == 0 {
		r := fake.Request{Method: "GET", Path: "/v1/pets", Header: http.Header{"Authorization": {"Bearer [redacted]"}}}
		n.Curl = replay.Curl(v.Origin, r, senders{0: MaskKey(key)}.public(r))
	}
	return n
}

// render returns what a template of the page shows.
func (p *Page) render(name string, data any) string {
	var text bytes.Buffer
	if err := p.layout.template.ExecuteTemplate(&text, name, data); err != nil {
		return "" // the templates are tested, and writing to memory does not fail
	}
	return strings.TrimSpace(text.String())
}

package requestpage

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/replay"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// maxListed bounds the keys, the faults and the pets that the page lists, each.
const maxListed = 100

// state is what the page shows.
type state struct {
	layout
	page     *Page
	Version  string
	Origin   string
	Port     string
	Now      time.Time
	Journal  journal.State
	Text     string // what is to be found
	Filtered bool

	Rows       []row
	OneKey     bool // whether all rows have the same sender
	Fit, Total int  // requests
	Kinds      [len(kinds)]kind
	First      string // a command for a first request, while there is none
	Detail     *detail

	Ahead       time.Duration
	Active      int // faults
	Banned      []Key
	Keys        []Key
	Key         Key // the chosen one
	Chart       chart
	FaultFields string
	Operations  []string
	Faults      []fault
	Over        []fault // have struck as often as they were to
	Pets        []petstore.Pet
	PetCount    int
}

// state returns what the page shows for the query of a request.
func (p *Page) state(r *http.Request) (*state, error) {
	query, err := spec.ReadQuery(r, "text", "request", "key")
	open, wrongRequest := spec.ReadNumber("request", query.Get("request"), 1, math.MaxInt32, 0)
	key, wrongKey := spec.ReadNumber("key", query.Get("key"), 1, math.MaxInt32, 1)
	query.Del("key") // the words of the text choose requests
	filter, wrongFilter := journal.NewFilter(query)
	if err := cmp.Or(err, wrongRequest, wrongKey, wrongFilter); err != nil {
		return nil, err
	}
	s := &state{
		layout: p.layout, page: p, Version: petstore.Version, Origin: "http://" + r.Host, Now: p.srv.Now(), Ahead: p.Ahead(),
		Port: (&url.URL{Host: r.Host}).Port(), Journal: p.Journal.Update(), Text: query.Get("text"), Filtered: filter.Given(),
		FaultFields: strings.Join(spec.FaultFields(), ", "), Operations: operationNames(),
	}
	senders := s.addKeys(key)
	s.addRows(filter, senders)
	s.addFaults()
	if e, ok := p.Journal.Entry(open); ok {
		s.Detail = s.detail(e, senders)
	}
	s.Chart = newChart(p.Journal.Requests(), s.Now, s.Key.ID)
	all := p.srv.Pets()
	s.Pets, s.PetCount = slices.Clone(all[max(len(all)-maxListed, 0):]), len(all)
	slices.Reverse(s.Pets)
	return s, nil
}

func operationNames() (names []string) {
	for _, o := range fake.Operations() {
		names = append(names, o.Name)
	}
	return names
}

// addKeys adds the keys, and returns their names by their ids.
func (s *state) addKeys(chosen int) (names map[int]string) {
	names = make(map[int]string)
	for _, one := range s.page.srv.Keys() {
		k := NewKey(s.page.srv, one)
		names[k.ID] = k.Name()
		if k.BannedUntil != nil {
			s.Banned = append(s.Banned, k)
		}
		if k.ID == chosen || k.ID == 1 {
			s.Key = k
		}
		if len(s.Keys) < maxListed {
			s.Keys = append(s.Keys, k)
		}
	}
	return names
}

// addRows adds the newest requests that fit, and counts all.
func (s *state) addRows(filter journal.Filter, senders map[int]string) {
	s.Kinds, s.OneKey = kinds, true
	requests := s.page.Journal.Requests()
	s.Total = len(requests)
	for _, one := range slices.Backward(requests) {
		if !s.page.Journal.Fits(filter, one.Seq) {
			continue
		}
		if s.Kinds[kindOf(one.Status)].N++; !filter.FitsStatus(one.Status) {
			continue
		}
		if s.Fit++; len(s.Rows) < maxRows {
			e, _ := s.page.Journal.Entry(one.Seq)
			s.Rows = append(s.Rows, newRow(e, senders))
			s.OneKey = s.OneKey && s.Rows[0].Sender == s.Rows[len(s.Rows)-1].Sender
		}
	}
	arrange(s.Rows)
	if s.Total == 0 {
		r := fake.Request{Method: "GET", Path: "/v1/pets", Key: 1, Header: http.Header{"Authorization": {"Bearer [redacted]"}}}
		s.First = replay.Curl(s.page.srv, s.Origin, r)
	}
}

// fault is a fault as the page lists it.
type fault struct {
	ID, Fired int
	Text      string    // as -fault takes it
	Until     time.Time // zero without an end
}

// addFaults adds the faults, the latest first. A key is told by its number, as in what the page
// injects.
func (s *state) addFaults() {
	for _, i := range slices.Backward(s.page.srv.Injections()) {
		f := i.Fault()
		if f.APIKey != "" {
			f.APIKey = "#" + strconv.Itoa(slices.Index(s.page.srv.Keys(), f.APIKey)+1)
		}
		one := fault{i.ID(), i.Fired(), shorten(spec.FormatFault(f)), i.Until()}
		if !i.Active() {
			s.Over = append(s.Over, one)
			continue
		}
		if s.Active++; s.Active <= maxListed {
			s.Faults = append(s.Faults, one)
		}
	}
	s.Over = s.Over[:min(len(s.Over), maxListed)]
}

// The chart has a slot for every 5 seconds of the last 5 minutes, by the service's clock.
const slotCount, slotSeconds = 60, 5

// chart is a picture that is 300 wide, a second each, and as high as the most responses of a slot.
type chart struct {
	Peak int
	Bars []bar
	Ends map[int64]bool // where a window of the key ended
}

type bar struct {
	Class   string
	X, Y, N int // Y from below
}

// newChart draws the responses of requests up to now, with the windows of a key.
func newChart(requests []journal.Summary, now time.Time, key int) chart {
	c, begin := chart{Ends: make(map[int64]bool)}, (now.Unix()/slotSeconds+1-slotCount)*slotSeconds
	var slots [slotCount][len(kinds)]int
	for _, r := range requests {
		if at := r.Ended.Unix() - begin; at >= 0 && at < slotCount*slotSeconds {
			slots[at/slotSeconds][kindOf(r.Status)]++
		}
		if end := r.Reset.Unix(); r.Key == key && end > begin && end <= now.Unix() {
			c.Ends[end-begin] = true
		}
	}
	for i, counts := range slots {
		y := 0
		for kind, n := range counts {
			if n > 0 {
				c.Bars, y = append(c.Bars, bar{kinds[kind].Class, i * slotSeconds, y, n}), y+n
			}
		}
		c.Peak = max(c.Peak, y)
	}
	return c
}

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
func NewKey(srv *fake.Server, key string) Key {
	k := srv.Usage(key)
	shown := Key{
		ID: slices.Index(srv.Keys(), key) + 1, Masked: journal.MaskKey(key), Plan: k.Plan.String(), Revoked: k.Revoked, Limited: k.Limited,
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

package requestpage

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// maxListed bounds the keys, the faults and the pets that the page lists, each.
const maxListed = 100

type state struct {
	layout
	journal.State
	page     *Page
	query    url.Values
	Program  string // its version
	Version  string // that of what is shown
	Same     bool   // whether the page shows it already
	Origin   string
	Now      time.Time
	Text     string // of the field Find
	Problems string // with that text

	Top    int // the first row of a list that stands still, 0 for another list
	New    int // requests above the first row
	Rows   []row
	Fit    int // requests
	Kinds  [len(kinds)]kind
	First  string // a command for a first request, while there are no requests
	Open   int    // the request that is to be shown
	Detail *detail

	Ahead       time.Duration // how far the service's clock is ahead of the machine's
	Active      int           // faults
	Banned      []Key
	Keys        []Key
	Key         Key // the chosen one
	Chart       chart
	FaultFields string
	Operations  []fake.Operation
	Faults      []Fault
	Pets        []petstore.Pet
	PetCount    int
}

// state returns what the page shows for the query of a request. What is wrong with the query is
// left out, so that a reader always has a page.
func (p *Page) state(r *http.Request) *state {
	query, version, now := r.URL.Query(), p.version(), p.srv.Now()
	filter, problems := p.Journal.NewFilter(query.Get("text"))
	number := func(name string) int { n, _ := strconv.Atoi(query.Get(name)); return n }
	s := &state{
		layout: p.layout, page: p, query: query, Program: petstore.Version, Origin: "http://" + r.Host,
		Version: version, Same: query.Get("version") == version, State: p.Journal.Read(), // after the version
		Text: query.Get("text"), Problems: strings.Join(problems, "; "),
		Open: number("request"), Top: number("top"),
		Now: now, Ahead: time.Until(now).Round(time.Second), // since the two clocks are not read at once
		FaultFields: strings.Join(spec.FaultFields(), ", "), Operations: fake.Operations(),
	}
	s.addKeys(cmp.Or(number("key"), 1))
	s.addRows(filter)
	s.addFaults()
	if e := s.Entry(s.Open); e != nil {
		s.Detail = s.detail(e)
	}
	s.Chart = newChart(s.List, s.Now)
	s.addPets()
	return s
}

// addPets adds the newest pets. It finds their number by their ids, which have no gaps: to list all
// pets of a large catalogue takes long.
func (s *state) addPets() {
	pet := s.page.srv.Pet
	s.PetCount = sort.Search(math.MaxInt32, func(i int) bool { _, found := pet(int64(i) + 1); return !found })
	for id := s.PetCount; id > max(s.PetCount-maxListed, 0); id-- {
		if p, found := pet(int64(id)); found { // or there was a reset meanwhile
			s.Pets = append(s.Pets, p)
		}
	}
}

// To returns the page's address with another value of a parameter; "" takes the parameter out.
func (s *state) To(name string, value any) string {
	query := url.Values{}
	for _, one := range []string{"text", "request", "key"} {
		v := s.query.Get(one)
		if one == name {
			v = fmt.Sprint(value)
		}
		if v != "" {
			query.Set(one, v)
		}
	}
	return "?" + query.Encode()
}

func (s *state) addKeys(chosen int) {
	for i, key := range s.page.srv.Keys() {
		k := NewKey(s.page.srv, i+1, key)
		if !k.BannedUntil.IsZero() {
			s.Banned = append(s.Banned, k)
		}
		if k.ID == chosen || k.ID == 1 {
			s.Key = k
		}
		if len(s.Keys) < maxListed {
			s.Keys = append(s.Keys, k)
		}
	}
}

// addRows adds the newest requests that fit, and counts all. A list that stands still keeps the
// rows that it has.
func (s *state) addRows(filter journal.Filter) {
	s.Kinds = kinds
	for _, e := range slices.Backward(s.List) {
		fits, withAnyStatus := filter.Fits(e)
		if withAnyStatus && !e.Pending() {
			s.Kinds[kindOf(e.StatusCode)].N++
		}
		if !fits {
			continue
		}
		if s.Fit++; s.Top > 0 && e.Seq > s.Top {
			s.New++
		}
		if s.Top == 0 && len(s.Rows) < maxRows {
			s.Rows = append(s.Rows, row{e})
		}
	}
	for i := range s.Kinds {
		s.Kinds[i].To, s.Kinds[i].Pressed = s.toggled(s.Kinds[i].Find)
	}
	if len(s.List) == 0 {
		r := fake.Request{Method: "GET", Path: "/v1/pets", Key: 1, Header: http.Header{"Authorization": {"Bearer [redacted]"}}}
		s.First = Curl(s.page.srv, s.Origin, r)
	}
}

// Older returns the address of the requests before those that are listed.
func (s *state) Older() string {
	words := slices.DeleteFunc(strings.Fields(s.Text), func(word string) bool { return strings.HasPrefix(word, "before:") })
	return s.To("text", strings.Join(append(words, "before:"+strconv.Itoa(s.Rows[len(s.Rows)-1].Seq)), " "))
}

// toggled returns the address to which a chip leads. The text to find gets the chip's words as its
// filter for the status; or it loses them if it has them, and then the chip is pressed.
func (s *state) toggled(words string) (to string, pressed bool) {
	var others, status []string
	for word := range strings.FieldsSeq(s.Text) {
		if strings.HasPrefix(strings.TrimPrefix(word, "-"), "status:") {
			status = append(status, word)
		} else {
			others = append(others, word)
		}
	}
	if pressed = strings.Join(status, " ") == words; !pressed {
		others = append(others, words)
	}
	return s.To("text", strings.Join(others, " ")), pressed
}

// Fault is an injected fault as the page and the admin routes show it.
type Fault struct {
	ID     int    `json:"id"`
	Text   string `json:"fault"` // as -fault takes it
	Fired  int    `json:"fired"`
	Active bool   `json:"active"` // false if it has ended
	// Until is when it ends, zero for one without an end.
	Until time.Time `json:"until,omitzero"`
}

// NewFault returns a fault with the id of its key in place of the key.
func NewFault(srv *fake.Server, i *fake.Injection) Fault {
	f := i.Fault()
	if f.APIKey != "" {
		f.APIKey = "#" + strconv.Itoa(slices.Index(srv.Keys(), f.APIKey)+1)
	}
	return Fault{i.ID(), spec.FormatFault(f), i.Fired(), i.Active(), i.Until().UTC()}
}

// addFaults adds the faults, the latest first.
func (s *state) addFaults() {
	for _, i := range slices.Backward(s.page.srv.Injections()) {
		if i.Active() {
			s.Active++
		}
		if len(s.Faults) < maxListed {
			one := NewFault(s.page.srv, i)
			one.Text = shorten(one.Text)
			s.Faults = append(s.Faults, one)
		}
	}
}

// The chart has a slot for every 5 seconds of the last 5 minutes, by the service's clock.
const slotCount, slotSeconds = 60, 5

// chart is a picture that is 300 wide, one for each second, and 1,000 high. Its scale is
// logarithmic, since otherwise the rest could not be seen beside a storm of requests.
type chart struct {
	Peak int // the most responses of a slot
	Bars []bar
}

type bar struct {
	Class   string
	X, Y, H int
}

// newChart draws the responses of requests up to now.
func newChart(requests []*journal.Entry, now time.Time) (c chart) {
	begin := (now.Unix()/slotSeconds + 1 - slotCount) * slotSeconds
	var slots [slotCount][len(kinds)]int
	for _, e := range requests {
		if at := e.Ended.Unix() - begin; at >= 0 && at < slotCount*slotSeconds {
			slot := &slots[at/slotSeconds]
			slot[kindOf(e.StatusCode)]++
			n := 0
			for _, of := range slot {
				n += of
			}
			c.Peak = max(c.Peak, n)
		}
	}
	height := func(n int) int { return int(math.Round(1000 * math.Log1p(float64(n)) / math.Log1p(float64(c.Peak)))) }
	for i, slot := range slots {
		n := 0
		for kind, of := range slices.Backward(slot[:]) { // the worst at the bottom, where even a few can be seen
			if of > 0 {
				c.Bars = append(c.Bars, bar{kinds[kind].Class, i * slotSeconds, 1000 - height(n+of), height(n+of) - height(n)})
				n += of
			}
		}
	}
	return c
}

// Key is an API key as the page and the admin routes show it.
type Key struct {
	ID          int       `json:"id"`
	Name        string    `json:"key"`
	Plan        string    `json:"plan"`
	Revoked     bool      `json:"revoked"`
	Minute      Window    `json:"minute"`
	Day         Window    `json:"day"`
	BannedUntil time.Time `json:"bannedUntil,omitzero"`
	Limited     int       `json:"limited"` // 429s so far
}

// Window is a window of a key, whose Limit is 0 for none.
type Window struct {
	Name  string    `json:"-"`
	Used  int       `json:"used"`
	Limit int       `json:"limit"`
	Reset time.Time `json:"reset"`
}

// NewKey describes the key with a number, without the key itself.
func NewKey(srv *fake.Server, number int, key string) Key {
	k := srv.Usage(key)
	return Key{
		number, journal.KeyName(number, key), k.Plan.String(), k.Revoked, Window{"minute", k.Minute, k.Plan.PerMinute, k.MinuteReset},
		Window{"day", k.Day, k.Plan.PerDay, k.DayReset}, k.BannedUntil.UTC(), k.Limited,
	}
}

// Windows returns the windows of the key.
func (k Key) Windows() []Window { return []Window{k.Minute, k.Day} }

// Left returns what a window with a limit has left for the key.
func (k Key) Left(w Window) int {
	if !k.BannedUntil.IsZero() {
		return 0
	}
	return max(w.Limit-w.Used, 0)
}

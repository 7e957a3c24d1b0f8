package page

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// The page lists at most so many requests and pets.
const maxRows, maxPets = 100, 100

// view has the values for the templates of the page.
type view struct {
	query           url.Values
	Program, Origin string
	Version         string        // identifies the state that the page shows
	Now             time.Time     // the service's time
	Ahead           time.Duration // how far the service's clock is ahead of the machine's clock

	Text       string     // the text of the field Find
	List       []*Request // all requests, oldest first
	Rows       []*Request // the newest requests that match Text, newest first
	Fit        int        // the number of requests that match Text
	Top        int        // Seq of the first row, if the list stands still; 0 if it shows new requests
	New        int        // the number of requests newer than Top that match Text
	Kinds      []kind
	Counts     map[string]int // the number of requests of each class
	Violations int

	Open   int      // Seq of the request whose details are shown; 0 for none
	Detail *Request // the request Open; nil if the journal does not have it

	Keys       []key
	Banned     int // the number of banned keys
	Key        key // the key whose windows are shown
	Chart      chart
	Faults     []*fake.Injection // the latest first
	Active     int               // the number of active faults
	Pets       []petstore.Pet    // the newest first
	PetsBefore int               // the number of older pets, which are not shown
}

// view returns the values for an HTTP request for the page. It ignores wrong values in the query,
// so that the reader always gets a page.
func (p *Page) view(r *http.Request) *view {
	query, now := r.URL.Query(), p.srv.Now()
	number := func(name string) int { n, _ := strconv.Atoi(query.Get(name)); return n }
	v := &view{
		query: query, Program: petstore.Version, Origin: "http://" + r.Host, Version: p.version(),
		Now: now, Ahead: time.Until(now).Round(time.Second), // the clocks are not read at the same moment
		Text: query.Get("text"), Open: number("request"), Top: number("top"),
		List: p.Journal(), Kinds: kinds, Counts: make(map[string]int),
		Violations: len(p.srv.Violations()), Faults: p.srv.Injections(), Pets: p.srv.Pets(),
	}
	v.Chart = newChart(v.List, now)
	v.addRows()
	v.addKeys(p.srv, number("key"))
	for _, i := range v.Faults {
		if i.Active() {
			v.Active++
		}
	}
	slices.Reverse(v.Faults)
	slices.Reverse(v.Pets)
	v.PetsBefore = max(len(v.Pets)-maxPets, 0)
	v.Pets = v.Pets[:len(v.Pets)-v.PetsBefore]
	return v
}

// addRows sets the fields about the list. If the journal no longer has the request Top, it sets Top
// to 0: then the page gets new rows even for a list that stands still.
func (v *view) addRows() {
	filter, top := NewFilter(v.Text), 0
	for _, r := range slices.Backward(v.List) {
		v.Counts[r.Class()]++
		if r.Seq == v.Open {
			v.Detail = r
		}
		if r.Seq == v.Top {
			v.New, top = v.Fit, v.Top
		}
		if filter.Fits(r) {
			v.Fit++
			v.Rows = append(v.Rows, r)
		}
	}
	v.Top, v.Rows = top, v.Rows[:min(v.Fit, maxRows)]
}

// To returns the page's address with a new value for a parameter; "" removes the parameter. The
// list of the new address does not stand still.
func (v *view) To(name, value string) string {
	query := maps.Clone(v.query)
	query.Del("top")
	query.Del("version")
	query.Set(name, value)
	if value == "" {
		query.Del(name)
	}
	return "?" + query.Encode()
}

// key is an API key with its windows.
type key struct {
	fake.Usage
	ID      int
	Name    string
	Windows [2]window
}

// window is the minute or the day of a key. Limit is 0 if there is no limit.
type window struct {
	Name              string
	Limit, Used, Left int
	Reset             time.Time
}

func (v *view) addKeys(srv *fake.Server, chosen int) {
	for i, name := range srv.Keys() {
		u := srv.Usage(name)
		k := key{u, i + 1, name, [2]window{
			{"minute", u.Plan.PerMinute, u.Minute, max(u.Plan.PerMinute-u.Minute, 0), u.MinuteReset},
			{"day", u.Plan.PerDay, u.Day, max(u.Plan.PerDay-u.Day, 0), u.DayReset},
		}}
		if !u.BannedUntil.IsZero() {
			k.Windows[0].Left, k.Windows[1].Left = 0, 0
			v.Banned++
		}
		if k.ID == chosen || k.ID == 1 {
			v.Key = k
		}
		v.Keys = append(v.Keys, k)
	}
}

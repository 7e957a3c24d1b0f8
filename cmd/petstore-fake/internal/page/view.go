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

// The bounds of what the page lists.
const maxRows, maxPets = 100, 100

// view is what the page shows for the query of its address.
type view struct {
	query           url.Values
	Program, Origin string
	Version         string        // of what the page shows
	Now             time.Time     // of the service
	Ahead           time.Duration // how far the service's clock is ahead of the machine's

	Text       string     // of the field Find
	List       []*Request // all requests, oldest first
	Rows       []*Request // the newest that match Text, newest first
	Fit        int        // requests that match Text
	Top        int        // the first row, if the list stands still; 0 if it follows the journal
	New        int        // requests above that row that match Text
	Kinds      []kind
	Counts     map[string]int // requests of each class
	Violations int

	Open   int      // the request that is to be shown
	Detail *Request // nil if the journal does not have it

	Keys       []key
	Banned     int
	Key        key // the chosen one
	Chart      chart
	Faults     []*fake.Injection // the latest first
	Active     int               // faults
	Pets       []petstore.Pet    // the newest first
	PetsBefore int               // pets that are not shown
}

// view returns what the page shows for a request. A wrong part of its query is left out, so that a
// reader always has a page.
func (p *Page) view(r *http.Request) *view {
	query, now := r.URL.Query(), p.srv.Now()
	number := func(name string) int { n, _ := strconv.Atoi(query.Get(name)); return n }
	v := &view{
		query: query, Program: petstore.Version, Origin: "http://" + r.Host, Version: p.version(),
		Now: now, Ahead: time.Until(now).Round(time.Second), // since the two clocks are not read at once
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

// addRows adds the rows of the list. A list that stands still keeps them, unless their requests are
// gone.
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

// To returns the page's address with another value of a parameter; "" takes the parameter out.
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

// window is a window of a key. Its Limit is 0 if it has none.
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

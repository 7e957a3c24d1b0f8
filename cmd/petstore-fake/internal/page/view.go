package page

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// The bounds of what the page lists.
const maxRows, maxPets = 100, 100

// view is what the page shows for the query of its address.
type view struct {
	query            url.Values
	Program, Origin  string
	Now              time.Time
	Ahead            time.Duration // how far the service's clock is ahead of the machine's
	Version, Journal string        // of what is shown
	Same             bool          // whether the page shows it already

	Text, Problem string     // of the field Find; what is wrong with it
	List, Rows    []*Request // all requests, those that are shown
	Before        int        // only requests before this one are shown
	Top           int        // the first row of a list that stands still, 0 for another list
	New           int        // requests above it
	Fit, Below    int        // requests that fit, and those of them that come after the last row
	Dropped       int        // requests that the journal has dropped for newer ones
	Chips         [len(kinds)]chip
	Violations    int

	Open         int // the request that is to be shown
	Older, Newer int // its neighbours in the list
	Detail       *detail

	Keys       []key
	Banned     int
	Key        key // the chosen one
	Chart      chart
	Faults     []*fake.Injection // the latest first
	Active     int               // faults
	Pets       []petstore.Pet    // the newest first
	PetsBefore int               // pets that are not shown
}

// view returns what the page shows for a request. What is wrong with its query is left out, so that
// a reader always has a page.
func (p *Page) view(r *http.Request) *view {
	query, now, changes := r.URL.Query(), p.srv.Now(), p.changes.Load()
	number := func(name string) int { n, _ := strconv.Atoi(query.Get(name)); return n }
	v := &view{
		query: query, Program: petstore.Version, Origin: "http://" + r.Host, Text: query.Get("text"),
		Now: now, Ahead: time.Until(now).Round(time.Second), // since the two clocks are not read at once
		Journal: fmt.Sprint(p.journals.Load()), List: p.Journal(), Violations: len(p.srv.Violations()),
		Open: number("request"), Before: cmp.Or(number("before"), math.MaxInt), Pets: p.srv.Pets(),
		Faults: p.srv.Injections(),
	}
	last := int(p.cleared.Load())
	if len(v.List) > 0 {
		v.Dropped = v.List[0].Seq - 1 - last
		last = v.List[len(v.List)-1].Seq
	}
	v.Version = fmt.Sprintf("%d.%d", changes, last)
	v.Same = query.Get("version") == v.Version
	if query.Get("journal") == v.Journal { // rows of another journal must go, even from a list that stands still
		v.Top = number("top")
	}
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
	v.Chart = newChart(v.List, now)
	return v
}

// addRows adds the newest requests that fit, and counts all. A list that stands still keeps the rows
// that it has.
func (v *view) addRows() {
	var filter Filter
	filter, v.Problem = NewFilter(v.Text)
	counts := make(map[string]int) // of the requests that fit with any status
	for _, r := range slices.Backward(v.List) {
		fits, withAnyStatus := filter.Fits(r)
		if withAnyStatus {
			counts[r.Class()]++
		}
		switch {
		case r.Seq == v.Open:
			v.Detail = newDetail(v.Origin, r)
		case fits && r.Seq > v.Open:
			v.Newer = r.Seq
		case fits:
			v.Older = cmp.Or(v.Older, r.Seq)
		}
		if fits {
			v.addRow(r)
		}
	}
	v.addChips(counts)
}

func (v *view) addRow(r *Request) {
	v.Fit++
	switch {
	case r.Seq >= v.Before: // the list has older ones
	case v.Top > 0 && r.Seq > v.Top:
		v.New++
	case len(v.Rows) < maxRows:
		v.Rows = append(v.Rows, r)
	default:
		v.Below++
	}
}

// IsOlder reports whether the list has no new requests, but older ones.
func (v *view) IsOlder() bool { return v.query.Has("before") }

// Last returns the seq of the last row.
func (v *view) Last() int { return v.Rows[len(v.Rows)-1].Seq }

// To returns the page's address with another value of a parameter; "" takes the parameter out.
func (v *view) To(name string, value any) string {
	query := url.Values{}
	for _, one := range []string{"text", "before", "request", "key"} {
		is := v.query.Get(one)
		if one == name {
			is = fmt.Sprint(value)
		}
		if is != "" && (one != "before" || name != "text") {
			query.Set(one, is)
		}
	}
	return "?" + query.Encode()
}

// chip is a button that finds the requests of a kind.
type chip struct {
	Class, Text string
	N           int // how many requests of this kind fit
	To          string
	Pressed     bool
}

// addChips adds the chips. The words of a chip take the place of those in the text to find that filter
// by status. If they are already there, it is pressed, and takes them away.
func (v *view) addChips(counts map[string]int) {
	isStatus := func(word string) bool { return strings.HasPrefix(strings.TrimPrefix(word, "-"), "status:") }
	isOther := func(word string) bool { return !isStatus(word) }
	others := slices.DeleteFunc(strings.Fields(v.Text), isStatus)
	status := strings.Join(slices.DeleteFunc(strings.Fields(v.Text), isOther), " ")
	for i, kind := range kinds {
		words := strings.Join(append(slices.Clip(others), kind.Find), " ")
		if status == kind.Find {
			words = strings.Join(others, " ")
		}
		v.Chips[i] = chip{kind.Class, kind.Text, counts[kind.Class], v.To("text", words), status == kind.Find}
	}
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

package requestpage

import (
	"html/template"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// view is the filters that a reader has set, and the key of the chart.
type view struct {
	p       *Page
	At      journal.Position // of what the reader has
	query   url.Values
	fits    func(journal.Entry) bool // nil for all
	fitting map[int]bool             // the seqs that fit; nil without a filter
	key     int                      // whose limit the chart shows
	Origin  string
}

// newView reads the query of a request, which may have further parameters.
func (p *Page) newView(r *http.Request, others ...string) (*view, *httpjson.Query) {
	q := httpjson.ReadQuery(r, append(journal.Parameters(), append(others, "chart")...)...)
	v := &view{p: p, At: p.journal.Update(), query: q.Values, fits: journal.Filter(q), Origin: httpjson.Origin(r)}
	v.key = int(q.Number("chart", 1, math.MaxInt32, 1))
	return v, q
}

// filters returns the filters that are set.
func (v *view) filters() url.Values {
	set := maps.Clone(v.query)
	maps.DeleteFunc(set, func(name string, given []string) bool {
		return given[0] == "" || !slices.Contains(journal.Parameters(), name)
	})
	return set
}

// Link returns the address of the page with a request open on it, with 0 none, and the same
// filters.
func (v *view) Link(seq int) string {
	link := v.filters()
	if seq > 0 {
		link.Set("request", strconv.Itoa(seq))
	}
	return "?" + link.Encode()
}

// newest returns the last requests that fit, newest first, and notes the seqs of all that fit.
func (v *view) newest() (rows []row) {
	if v.fits != nil {
		v.fitting = make(map[int]bool)
	}
	keys := v.p.senders()
	first, last := v.p.journal.Span()
	for seq := last; seq >= first && (v.fits != nil || len(rows) < maxRows); seq-- {
		e, ok := v.p.journal.Entry(seq)
		if !ok || v.fits != nil && !v.fits(e) {
			continue
		}
		if v.fits != nil {
			v.fitting[seq] = true
		}
		if len(rows) < maxRows {
			rows = append(rows, keys.row(e, v.Link(seq)))
		}
	}
	return rows
}

// chips are the filters that have no field, by their names.
func (v *view) chips() map[string]string {
	chips := make(map[string]string)
	if at, err := strconv.ParseInt(v.query.Get("at"), 10, 64); err == nil {
		from := time.Unix(at, 0).UTC()
		to := from.Add(journal.SlotSeconds * time.Second)
		chips["at"] = from.Format(time.TimeOnly) + " to " + to.Format(time.TimeOnly)
	}
	if before := v.query.Get("before"); before != "" {
		chips["before"] = "before request " + before
	}
	if len(v.filters()) > 0 {
		chips[""] = "Clear filters"
	}
	return chips
}

// pageData is what the page shows before, and without, its script.
type pageData struct {
	*view
	layout
	Version     string
	Port        string
	FaultFields string
	Operations  []string
	Rules       map[fake.Rule]string
	Rows        []row
	Detail      *detail
	parts       map[string]any
}

// Given returns a parameter of the page's address.
func (d pageData) Given(name string) string { return d.query.Get(name) }

// Part returns a part of the state.
func (d pageData) Part(name string) template.HTML {
	return template.HTML(d.p.render(name, d.parts[name])) //nolint:gosec // a template has escaped it
}

func (p *Page) pageData(r *http.Request) (pageData, error) {
	v, q := p.newView(r, "request")
	seq := int(q.Number("request", 1, math.MaxInt32, 0))
	if q.Values.Get("method") != "" {
		q.Fail("the page has no filter for the method")
	}
	if q.Err != nil {
		return pageData{}, q.Err
	}
	d := pageData{
		view: v, layout: p.layout, Version: petstore.Version, Port: (&url.URL{Host: r.Host}).Port(),
		FaultFields: strings.Join(spec.FaultFields(), ", "), Operations: fakecontrol.Operations(), Rules: ruleTexts,
		Rows: v.newest(), parts: v.parts(),
	}
	if e, ok := p.journal.Entry(seq); ok {
		d.Detail = v.detail(e)
	}
	return d, nil
}

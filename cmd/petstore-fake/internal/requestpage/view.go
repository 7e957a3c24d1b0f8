package requestpage

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// pageData is what the page shows before, and without, its script.
type pageData struct {
	Version string
	Origin  string
	// FaultFields are the names of a fault's fields.
	FaultFields string
	Filters     []filterField
	Rows        []row
	Detail      *shownDetail
	Style       template.CSS
	Script      template.JS
	query       url.Values
}

// Link returns the address of the page with a request open on it, with 0 none, and the same
// filters.
func (d pageData) Link(seq int) string {
	link := make(url.Values)
	for name := range d.query {
		if v := d.query.Get(name); v != "" && name != "request" {
			link.Set(name, v)
		}
	}
	if seq > 0 {
		link.Set("request", strconv.Itoa(seq))
	}
	return "?" + link.Encode()
}

// Given returns a parameter of the page's address.
func (d pageData) Given(name string) string { return d.query.Get(name) }

// pageBody is a body in it.
type pageBody struct{ About, Text string }

func newPageBody(text string, binary []byte, size int) pageBody {
	b := pageBody{fmt.Sprintf("%d bytes", size), text}
	if size == 0 {
		b.About = "No body."
	}
	if binary != nil {
		b = pageBody{b.About + ", as base64", base64.StdEncoding.EncodeToString(binary)}
	}
	if size > maxDetail {
		b.About += fmt.Sprintf("; these are the first %d", maxDetail)
	}
	return b
}

// filterField is a filter that the reader can choose.
type filterField struct {
	Name, Label, Given string
	Choices            [][2]string // value and text
}

// maxDetail is how much of a body the page shows.
const maxDetail = 16 << 10

func (p *Page) pageData(r *http.Request) (pageData, error) {
	// Those that the reader sees and can change.
	q := httpjson.ReadQuery(r, "operation", "status", "key", "fault", "violation", "text", "at", "request")
	fits := journal.Filter(q)
	seq := int(q.Number("request", 1, 1<<31-1, 0))
	if q.Err != nil {
		return pageData{}, q.Err
	}
	p.journal.Update(p.feed.generation())
	rows, _ := p.newestRows(fits)
	slices.Reverse(rows)
	d := pageData{
		Version: petstore.Version, Origin: httpjson.Origin(r), FaultFields: strings.Join(spec.FaultFields, ", "),
		Filters: p.filterFields(q.Values),
		Rows:    rows, Style: p.layout.style, Script: p.layout.script, query: q.Values,
	}
	if e, ok := p.journal.Entry(seq); ok {
		detail := p.showDetail(r, e, maxDetail)
		d.Detail = &detail
	}
	return d, nil
}

func (p *Page) filterFields(query url.Values) []filterField {
	operations := choices(fake.OpListPets, fake.OpCreatePet, fake.OpGetPet, "none")
	status := choices("2xx", "4xx", "5xx", "200", "201", "400", "401", "404", "405", "429", "500", "503")
	status = append(status, [2]string{"0", "no response"})
	keys := choices()
	all := p.srv.Keys()
	for _, k := range all[:min(len(all), MaxListed)] {
		keys = append(keys, [2]string{strconv.Itoa(k.Number), KeyText(k.Number, MaskKey(k.APIKey))})
	}
	keys = append(keys, [2]string{journal.KeyNone, journal.KeyNone}, [2]string{journal.KeyUnknown, journal.KeyUnknown})
	faults := [][2]string{{"", "any"}, {"true", "with"}, {"false", "without"}}
	violations := slices.Clone(faults)
	for _, name := range fake.Rules() {
		violations = append(violations, [2]string{name, ruleTexts[name]})
	}
	fields := []filterField{
		{Name: "operation", Label: "Operation", Choices: operations},
		{Name: "status", Label: "Status", Choices: status},
		{Name: "key", Label: "Key", Choices: keys},
		{Name: "fault", Label: "Fault", Choices: faults},
		{Name: "violation", Label: "Violation", Choices: violations},
	}
	for i, f := range fields {
		given := query.Get(f.Name)
		fields[i].Given = given
		if !slices.ContainsFunc(f.Choices, func(c [2]string) bool { return c[0] == given }) { // such as the status 418
			fields[i].Choices = append(fields[i].Choices, [2]string{given, given})
		}
	}
	return fields
}

// choices returns the choice of any value, and others whose texts are their values.
func choices(values ...string) [][2]string {
	list := [][2]string{{"", "any"}}
	for _, value := range values {
		list = append(list, [2]string{value, value})
	}
	return list
}

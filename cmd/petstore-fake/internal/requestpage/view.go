package requestpage

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/fake"
)

// pageData is what the page shows before, and without, its script.
type pageData struct {
	Version string
	Origin  string
	Filters []filterField
	Rows    []row
	Detail  *pageDetail
	Style   template.CSS
	Script  template.JS
	query   url.Values
}

// Link returns the address of the page with a request open on it, with 0 none, and the same filters.
func (d pageData) Link(seq int) string {
	link := make(url.Values)
	for _, f := range d.Filters {
		if v := d.query.Get(f.Name); v != "" {
			link.Set(f.Name, v)
		}
	}
	if seq > 0 {
		link.Set("request", strconv.Itoa(seq))
	}
	return "?" + link.Encode()
}

// pageDetail is a request that is open on the page without its script.
type pageDetail struct {
	shownDetail
	Row row
}

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
	Name    string
	Label   string
	Choices []filterChoice
}

type filterChoice struct {
	Value, Text string
	Selected    bool
}

// maxDetail is how much of a body the page shows.
const maxDetail = 64 << 10

func (p *Page) pageData(r *http.Request) (pageData, error) {
	q := httpjson.ReadQuery(r, "operation", "status", "key", "request") // those that the reader sees and can change
	fits := requestFilter(q)
	seq := int(q.Number("request", 1, 1<<31-1, 0))
	if q.Err != nil {
		return pageData{}, q.Err
	}
	rows := p.newestRows(fits)
	slices.Reverse(rows)
	d := pageData{
		Version: petstore.Version, Origin: httpjson.Origin(r), Filters: p.filterFields(q.Values),
		Rows: rows, Style: p.layout.style, Script: p.layout.script, query: q.Values,
	}
	if found, ok := p.srv.Request(seq); ok {
		d.Detail = &pageDetail{p.showDetail(r, found, maxDetail), p.senders().row(found)}
	}
	return d, nil
}

func (p *Page) filterFields(query url.Values) []filterField {
	operations := []filterChoice{
		{Text: "any"},
		{Value: fake.OpListPets, Text: fake.OpListPets},
		{Value: fake.OpCreatePet, Text: fake.OpCreatePet},
		{Value: fake.OpGetPet, Text: fake.OpGetPet},
		{Value: "none", Text: "none"},
	}
	status := []filterChoice{{Text: "any"}}
	for _, s := range []string{"2xx", "4xx", "5xx", "200", "201", "400", "401", "404", "405", "429", "500", "503"} {
		status = append(status, filterChoice{Value: s, Text: s})
	}
	status = append(status, filterChoice{Value: "0", Text: "no answer"})
	keys := []filterChoice{{Text: "any"}}
	all := p.srv.Keys()
	for _, k := range all[:min(len(all), MaxListed)] {
		text := keyText(k.Number, MaskKey(k.APIKey))
		keys = append(keys, filterChoice{Value: strconv.Itoa(k.Number), Text: text})
	}
	keys = append(keys, filterChoice{Value: keyNone, Text: keyNone}, filterChoice{Value: keyUnknown, Text: keyUnknown})
	fields := []filterField{
		{"operation", "Operation", operations}, {"status", "Status", status}, {"key", "Key", keys},
	}
	for i, f := range fields {
		fields[i].Choices = chosen(f.Choices, query.Get(f.Name))
	}
	return fields
}

// chosen selects a value among the choices, or beside them: an address may say 418.
func chosen(choices []filterChoice, value string) []filterChoice {
	i := slices.IndexFunc(choices, func(c filterChoice) bool { return c.Value == value })
	if i < 0 {
		return append(choices, filterChoice{value, value, true})
	}
	choices[i].Selected = true
	return choices
}

// keyText adds the id to a masked key, since keys may begin alike. The page's script does the same.
func keyText(id int, masked string) string {
	switch {
	case id == 0 && masked == keyNone:
		return "no key"
	case id == 0:
		return "unknown key"
	case masked == fake.DefaultAPIKey:
		return masked
	}
	return fmt.Sprintf("%s #%d", masked, id)
}

// hint is why a request was refused: a text, and the sections of the service document it refers to.
type hint struct{ Text, Sections string }

var hintSections = regexp.MustCompile(`(?s)^(.*) \((sections? [\d., and]+)\)(.*)$`)

// splitHint takes the sections out of a hint, as the page's script does too.
func splitHint(text string) hint {
	parts := hintSections.FindStringSubmatch(text)
	if parts == nil {
		return hint{Text: text}
	}
	return hint{parts[1] + parts[3], parts[2]}
}

// clockTime is a time of a day, as the page's script writes it too.
func clockTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// tookText is a duration in milliseconds, as the page's script writes it too.
func tookText(ms float64) string {
	switch {
	case ms < 0.9995:
		return fmt.Sprintf("%.0f µs", ms*1000)
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.2f s", ms/1000)
}

// statusText returns a status as the list shows it.
func statusText(r row) string {
	switch {
	case r.Pending:
		return "open"
	case r.Status == 0:
		return "none"
	}
	return strconv.Itoa(r.Status)
}

// statusClass is the class that gives a status its colour.
func statusClass(r row) string {
	switch {
	case r.Pending:
		return "open"
	case r.Status == 0:
		return "lost"
	case r.Status == http.StatusTooManyRequests:
		return "limited"
	case r.Status >= 500:
		return "failed"
	case r.Status >= 400:
		return "refused"
	}
	return "fine"
}

package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// pageFiles are the parts of the request page. They go out as one document.
//
//go:embed page
var pageFiles embed.FS

// page is the request page. Its script and its style stand in it, and the policy names them by their
// digests, so that nothing else can run or be loaded, whatever a request has put on the page.
type page struct {
	template *template.Template
	style    template.CSS
	script   template.JS
	policy   string
}

func newPage() *page {
	read := func(name string) string {
		text, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		return string(text)
	}
	style, script := read("page.css"), read("page.js")
	funcs := template.FuncMap{
		"body": newPageBody, "class": statusClass, "clock": clockTime, "hint": splitHint, "key": keyText,
		"status": statusText, "took": tookText,
	}
	return &page{
		template: template.Must(template.New("page").Funcs(funcs).Parse(read("page.html"))),
		style:    template.CSS(style), //nolint:gosec // a file that is embedded
		script:   template.JS(script), //nolint:gosec // a file that is embedded
		policy: strings.Join([]string{
			"default-src 'none'", "script-src " + digest(script), "style-src " + digest(style),
			"connect-src 'self'", "img-src data:", "form-action 'self'", "base-uri 'none'",
			"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
		}, "; "),
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// front answers GET /_fake/: browsers get the page, and programs the index.
func (a *admin) front(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !wantsHTML(r) {
		endpoint(a.index).ServeHTTP(w, r)
		return
	}
	data, err := a.pageData(r)
	if err != nil {
		writeProblem(w, err)
		return
	}
	var text bytes.Buffer
	if err := a.page.template.Execute(&text, data); err != nil {
		writeProblem(w, &problem{http.StatusInternalServerError, "the page cannot be made"})
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", a.page.policy)
	if isLoopback(hostName(r.Host)) { // elsewhere browsers ignore it over plain http, with an error in the console
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY") // for what knows no frame-ancestors
	_, _ = w.Write(text.Bytes())     // the client may be gone
}

// wantsHTML reports whether a client names HTML among what it accepts. That of */* takes anything, as
// a program does.
func wantsHTML(r *http.Request) bool {
	for accepted := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		media, params, err := mime.ParseMediaType(accepted)
		if err != nil || media != "text/html" {
			continue
		}
		if q, err := strconv.ParseFloat(params["q"], 64); err != nil || q > 0 {
			return true
		}
	}
	return false
}

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

func (a *admin) pageData(r *http.Request) (pageData, error) {
	q := readQuery(r, "operation", "status", "key", "request") // those that the reader sees and can change
	fits := a.requestFilter(q)
	seq := int(q.number("request", 1, 1<<31-1, 0))
	if q.err != nil {
		return pageData{}, q.err
	}
	rows := a.newestRows(fits)
	slices.Reverse(rows)
	d := pageData{
		Version: petstore.Version, Origin: origin(r), Filters: a.filterFields(q.values),
		Rows: rows, Style: a.page.style, Script: a.page.script, query: q.values,
	}
	if found, ok := a.srv.Request(seq); ok {
		d.Detail = &pageDetail{a.showDetail(r, found, maxDetail), a.row(found)}
	}
	return d, nil
}

func (a *admin) filterFields(query url.Values) []filterField {
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
	for id := 1; id <= min(a.keys.len(), maxListed); id++ {
		key, _, _ := a.keys.find(int64(id))
		keys = append(keys, filterChoice{Value: strconv.Itoa(id), Text: keyText(id, maskKey(key))})
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

// keyText tells keys apart that begin alike, as the page's script does too.
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

// statusText is what stands for a status in the list.
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

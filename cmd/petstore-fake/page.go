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
		"class": statusClass, "clock": clockTime, "hint": splitHint, "key": keyText,
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
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
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
	Detail  *shownDetail
	Style   template.CSS
	Script  template.JS
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
	q := readQuery(r, append(requestParameters(), "request")...)
	fits := a.requestFilter(q)
	seq := int(q.number("request", 1, 1<<31-1, 0))
	if q.err != nil {
		return pageData{}, q.err
	}
	rows := a.newestRows(fits)
	slices.Reverse(rows)
	d := pageData{
		Version: petstore.Version, Origin: origin(r), Filters: a.filterFields(q.values),
		Rows: rows, Style: a.page.style, Script: a.page.script,
	}
	if found, ok := a.srv.Request(seq); ok {
		detail := a.showDetail(r, found, maxDetail)
		d.Detail = &detail
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
	for _, f := range fields {
		for i, c := range f.Choices {
			f.Choices[i].Selected = c.Value == query.Get(f.Name)
		}
	}
	return fields
}

// keyText tells keys apart that begin alike.
func keyText(id int, masked string) string {
	if id == 0 || masked == fake.DefaultAPIKey {
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

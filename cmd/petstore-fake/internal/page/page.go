// Package page shows the journal of a fake in a browser, with controls for the fake. The page asks
// four times a second, and gets its changing parts, as HTML, if they have changed.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// webFiles are the parts of the page, which is sent as one document.
//
//go:embed web
var webFiles embed.FS

// Page is the request page of a fake. It is safe for concurrent use.
type Page struct {
	srv      *fake.Server
	template *template.Template
	policy   string
	cleared  atomic.Int64 // seq of the last request that was cleared
	changes  atomic.Int64 // begins at the time of the start, so that the page of an earlier program differs
}

// New returns the page of a fake. Its script and its style are inline, and its policy allows only
// these two, by their digests: nothing that a request has put on the page can run or be loaded.
func New(srv *fake.Server) *Page {
	style, script := read("page.css"), read("morph.js")+read("program.js")+read("list.js")+read("refresh.js")
	p := &Page{srv: srv, policy: strings.Join([]string{
		"default-src 'none'", "script-src " + digest(script), "style-src " + digest(style),
		"connect-src 'self'", "img-src data:", "form-action 'none'", "base-uri 'none'",
		"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types page",
	}, "; ")}
	p.changes.Store(time.Now().UnixNano())
	p.template = template.Must(template.New("page").Funcs(template.FuncMap{
		"many": many, "words": words, "when": when, "layOut": layOut, "curl": Curl,
		"style":  func() template.CSS { return template.CSS(style) },
		"script": func() template.JS { return template.JS(script) },
	}).ParseFS(webFiles, "web/*.html"))
	return p
}

// read returns an embedded file.
func read(name string) string {
	text, _ := webFiles.ReadFile("web/" + name)
	return string(text)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Clear removes the requests so far from the page and from [Page.Journal]. Their numbers are not
// used again. It must also be called after a reset of the fake, whose numbers begin with 1.
func (p *Page) Clear() {
	last := 0
	for _, r := range p.srv.Requests() {
		last = r.Seq
	}
	p.cleared.Store(int64(last))
}

// Show handles GET /_fake/ of a browser.
func (p *Page) Show(w http.ResponseWriter, r *http.Request) { p.write(w, r, "page") }

// Parts handles GET /_fake/page: it sends the parts of the page that change, for the query of the
// page's address, unless the query names the newest version.
func (p *Page) Parts(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("version") == p.version() {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	p.write(w, r, "parts")
}

// Changed notes that a request has arrived or has got its response, or that the fake has changed.
func (p *Page) Changed() { p.changes.Add(1) }

// version identifies the state that the page shows. It also changes with the slots of the chart.
func (p *Page) version() string {
	return fmt.Sprint(p.changes.Load(), ".", p.srv.Now().Unix()/slotSeconds)
}

func (p *Page) write(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Content-Security-Policy", p.policy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = p.template.ExecuteTemplate(w, name, p.view(r)) // an error says that the client is gone
}

// layOut writes a body for reading: a JSON text over several lines, its numbers as they are.
func layOut(body []byte) string {
	var laidOut bytes.Buffer
	if json.Indent(&laidOut, body, "", "  ") == nil {
		body = laidOut.Bytes()
	}
	return strings.ToValidUTF8(string(body), "�")
}

// when writes a time, with its day unless that is today.
func when(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// words writes a duration to three digits: 59.6s, 10m0s. A shorter one than a millisecond is
// <1ms.
func words(d time.Duration) string {
	if d.Abs() < time.Millisecond {
		return "<1ms"
	}
	digit := 10 * time.Microsecond
	for digit < time.Second && d.Abs() >= 1000*digit {
		digit *= 10
	}
	return d.Round(digit).String()
}

// many writes a number with its noun.
func many(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

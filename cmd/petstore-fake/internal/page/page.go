// Package page serves the request page: it shows the journal of a fake in a browser, and has
// controls for the fake. Up to four times a second, a script asks for the parts of the page that
// change. It gets them as HTML if they have changed.
package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/fake"
)

//go:embed web
var webFiles embed.FS

// Files handles GET /_fake/web/: it sends the style sheet and the scripts.
var Files = http.StripPrefix("/_fake/", http.FileServerFS(webFiles))

// policy is the Content-Security-Policy of the page. The browser loads and runs only the files of
// the program: a script in the text of a request does not run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;" +
	" form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"many": many, "words": words, "when": when, "layOut": layOut, "curl": curl,
}).ParseFS(webFiles, "web/*.html"))

// Page is the request page of a fake. It is safe for concurrent use.
type Page struct {
	srv     *fake.Server
	cleared atomic.Int64 // Seq of the last request that was cleared
	changes atomic.Int64 // begins with the time: a page that is still open from an earlier run is not up to date
}

// New returns the page of a fake.
func New(srv *fake.Server) *Page {
	p := &Page{srv: srv}
	p.changes.Store(time.Now().UnixNano())
	return p
}

// Clear removes the requests so far from the page and from [Page.Journal]. It must also be called
// after a reset of the fake: numbers then begin with 1, and Journal would leave out new requests.
func (p *Page) Clear() {
	last := 0
	for _, r := range p.srv.Requests() {
		last = r.Seq
	}
	p.cleared.Store(int64(last))
}

// Show handles GET /_fake/ for a browser: it sends the whole page.
func (p *Page) Show(w http.ResponseWriter, r *http.Request) { p.write(w, r, "page") }

// Parts handles GET /_fake/page: it sends the parts of the page that change, or nothing if the
// query has the newest version. The rest of the query is the query of the page's address.
func (p *Page) Parts(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("version") == p.version() {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	p.write(w, r, "parts")
}

// Changed gives the page a new version. It must be called when a request has arrived or has ended,
// and when the fake has changed.
func (p *Page) Changed() { p.changes.Add(1) }

// version identifies the state that the page shows. The chart changes it every five seconds.
func (p *Page) version() string {
	return fmt.Sprint(p.changes.Load(), ".", p.srv.Now().Unix()/slotSeconds)
}

func (p *Page) write(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = templates.ExecuteTemplate(w, name, p.view(r)) // it fails only if the client is gone
}

// layOut makes a body easy to read: it indents JSON, and leaves the numbers as they are.
func layOut(body []byte) string {
	var laidOut bytes.Buffer
	if json.Indent(&laidOut, body, "", "  ") == nil {
		body = laidOut.Bytes()
	}
	return strings.ToValidUTF8(string(body), "�")
}

// when returns a time, in UTC, as the page shows it.
func when(t time.Time) string { return t.UTC().Format(time.DateTime) }

// words returns a duration as the page shows it: 12ms or, from a second on, 59.6s.
func words(d time.Duration) string {
	if d.Abs() < time.Second {
		return fmt.Sprint(d.Milliseconds(), "ms")
	}
	return d.Round(100 * time.Millisecond).String()
}

// many returns a number and its noun, such as 1 fault or 2 faults.
func many(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

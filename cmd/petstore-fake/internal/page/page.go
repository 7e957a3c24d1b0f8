// Package page shows the journal of a fake in a browser, with controls for the fake. The page asks
// four times a second, and gets its changing parts, as HTML, if they have changed.
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

// Files handles GET /_fake/web/: it sends the style and the scripts.
var Files = http.StripPrefix("/_fake/", http.FileServerFS(webFiles))

// policy lets the page run and load only its own files, and nothing that a request has put on it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;" +
	" form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"many": many, "words": words, "when": when, "layOut": layOut, "curl": curl,
}).ParseFS(webFiles, "web/*.html"))

// Page is the request page of a fake. It is safe for concurrent use.
type Page struct {
	srv     *fake.Server
	cleared atomic.Int64 // seq of the last request that was cleared
	changes atomic.Int64 // begins at the time of the start, so that the page of an earlier program differs
}

// New returns the page of a fake.
func New(srv *fake.Server) *Page {
	p := &Page{srv: srv}
	p.changes.Store(time.Now().UnixNano())
	return p
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
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = templates.ExecuteTemplate(w, name, p.view(r)) // an error says that the client is gone
}

// layOut writes a body for reading: a JSON text over several lines, its numbers as they are.
func layOut(body []byte) string {
	var laidOut bytes.Buffer
	if json.Indent(&laidOut, body, "", "  ") == nil {
		body = laidOut.Bytes()
	}
	return strings.ToValidUTF8(string(body), "�")
}

// when writes a time.
func when(t time.Time) string { return t.UTC().Format(time.DateTime) }

// words writes a duration such as 12ms or, from a second on, 59.6s.
func words(d time.Duration) string {
	if d.Abs() < time.Second {
		return fmt.Sprint(d.Milliseconds(), "ms")
	}
	return d.Round(100 * time.Millisecond).String()
}

// many writes a number with its noun.
func many(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

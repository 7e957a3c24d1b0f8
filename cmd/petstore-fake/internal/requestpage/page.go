// Package requestpage shows the journal of a fake in a browser, with controls for the fake. The
// page asks for its changing parts, as HTML, four times a second.
package requestpage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/fake"
)

// pageFiles are the parts of the request page. They go out as one document.
//
//go:embed page
var pageFiles embed.FS

// Page is the request page of a fake. It is safe for concurrent use.
type Page struct {
	// Journal is the journal that the page shows.
	Journal *journal.Journal

	srv     *fake.Server
	layout  layout
	changes atomic.Int64
}

// New returns the page of a fake, which must call Changed for each change of its journal.
func New(srv *fake.Server) *Page {
	p := &Page{srv: srv, Journal: journal.New(srv), layout: newLayout()}
	p.changes.Store(time.Now().UnixNano()) // so that a page notices that this is another program
	return p
}

// Changed notes that the journal or the state has changed.
func (p *Page) Changed() { p.changes.Add(1) }

// version names what the page has to show now. It differs after each change.
func (p *Page) version() string { return strconv.FormatInt(p.changes.Load(), 10) }

// layout is the document of the page. Its script and its style are inline, and the policy names
// them by their digests, so that nothing else can run or be loaded, whatever a request has put on
// the page.
type layout struct {
	template *template.Template
	Style    template.CSS
	Script   template.JS
	policy   string
}

func newLayout() layout {
	read := func(name string) string {
		text, _ := pageFiles.ReadFile("page/" + name) // it is embedded
		return string(text)
	}
	style, script := read("page.css"), ""
	for _, name := range []string{"morph", "program", "list", "refresh"} {
		script += read(name + ".js")
	}
	page := template.New("page").Funcs(template.FuncMap{
		"count": count, "many": many, "words": words, "milli": time.Time.UnixMilli, "when": when,
	})
	return layout{
		template: template.Must(page.Parse(read("page.html") + read("parts.html"))),
		Style:    template.CSS(style), // a file that is embedded
		Script:   template.JS(script), // a file that is embedded
		policy: strings.Join([]string{
			"default-src 'none'", "script-src " + digest(script), "style-src " + digest(style),
			"connect-src 'self'", "img-src data:", "form-action 'none'", "base-uri 'none'",
			"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types page",
		}, "; "),
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Show handles GET /_fake/ of a browser.
func (p *Page) Show(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Security-Policy", p.layout.policy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	return p.write(w, r, "page")
}

// Parts handles GET /_fake/page: it sends the parts of the page that change, for the query of the
// page's address. The page names the version that it shows. While there is no newer one it gets
// nothing, unless it asks for a beat (see refresh.js).
func (p *Page) Parts(w http.ResponseWriter, r *http.Request) error {
	if query := r.URL.Query(); query.Get("version") == p.version() && !query.Has("beat") {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return p.write(w, r, "parts")
}

func (p *Page) write(w http.ResponseWriter, r *http.Request, name string) error {
	var text bytes.Buffer
	if err := p.layout.template.ExecuteTemplate(&text, name, p.state(r)); err != nil {
		return err // of the template
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // an error says that the client is gone
	return nil
}

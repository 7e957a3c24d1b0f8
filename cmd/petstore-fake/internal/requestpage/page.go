// Package requestpage shows the journal of a fake: as a page for a browser, as a stream of events
// that keeps the page up to date, as JSON, as an HTTP archive (HAR), and as code.
package requestpage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// pageFiles are the parts of the request page. They go out as one document.
//
//go:embed page
var pageFiles embed.FS

// Page is the request page, and the routes that it and programs read the journal by. It is safe for
// concurrent use.
type Page struct {
	srv     *fakecontrol.Server
	journal *journal.Journal
	traffic traffic
	streams atomic.Int32
	layout  layout
	open    context.Context // ends when the page is closed
	close   func()

	mu   sync.Mutex
	wake chan struct{} // closed at the next change; nil while no stream waits
}

// New returns the page of a fake, which must call Changed for each change of its journal.
func New(srv *fakecontrol.Server) *Page {
	p := &Page{srv: srv, journal: journal.New(srv), layout: newLayout()}
	p.open, p.close = context.WithCancel(context.Background())
	return p
}

// Ahead returns how far the service's time is ahead of the machine's, in whole seconds, since the
// two clocks are not read at the same moment.
func (p *Page) Ahead() time.Duration { return time.Until(p.srv.Now()).Round(time.Second) }

// Answered records the response to a request of the service, with status 0 if there was none.
func (p *Page) Answered(r *http.Request, status int, h http.Header) {
	_, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	p.traffic.add(p.srv.Now(), p.srv.KeyNumber(key), status, h)
	p.Changed()
}

// Changed wakes the streams of events. It is called when the journal or the state has changed.
func (p *Page) Changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}

// changed returns a channel that is closed at the next change.
func (p *Page) changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wake == nil {
		p.wake = make(chan struct{})
	}
	return p.wake
}

// Clear clears the journal.
func (p *Page) Clear() {
	p.journal.Clear()
	p.Changed()
}

// Restart puts the fake and the traffic back to the start.
func (p *Page) Restart() {
	p.journal.Restart()
	p.traffic.reset()
	p.Changed()
}

// Close ends the streams of events, which do not end by themselves.
func (p *Page) Close() { p.close() }

// scripts are the parts of the page's script, in the order in which they go into the one that the
// page runs.
var scripts = []string{
	"elements", "program", "list", "find", "detail", "chart", "stream", "shortcuts",
}

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
		text, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		return string(text)
	}
	style, script := read("page.css"), ""
	for _, name := range scripts {
		script += read(name + ".js")
	}
	page := template.New("page").Funcs(template.FuncMap{
		"count": count, "many": many, "words": words, "milli": time.Time.UnixMilli, "statuses": statuses,
	})
	return layout{
		template: template.Must(page.Parse(read("page.html") + read("parts.html"))),
		Style:    template.CSS(style), //nolint:gosec // a file that is embedded
		Script:   template.JS(script), //nolint:gosec // a file that is embedded
		policy: strings.Join([]string{
			"default-src 'none'", "script-src " + digest(script), "style-src " + digest(style),
			"connect-src 'self'", "img-src data:", "form-action 'self'", "base-uri 'none'",
			"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types page",
		}, "; "),
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Show writes the page.
func (p *Page) Show(w http.ResponseWriter, r *http.Request) error {
	data, err := p.pageData(r)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := p.layout.template.Execute(&text, data); err != nil {
		return httpjson.Errorf(http.StatusInternalServerError, "the page cannot be made")
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.layout.policy)
	// Over plain http from another machine browsers ignore it, with an error in the console.
	if r.TLS != nil || spec.IsLoopback(spec.HostName(r.Host)) {
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	_, _ = w.Write(text.Bytes())     // an error says that the client is gone
	return nil
}

// WantsHTML reports whether a client names HTML among what it accepts. That of */* takes anything,
// as a program does.
func WantsHTML(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/html")
}

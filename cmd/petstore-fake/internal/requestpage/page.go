// Package requestpage shows the journal of a fake in a browser, with what steers it. The page asks
// for its changing parts as HTML whenever its stream of events says that something has changed.
package requestpage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
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
	open    context.Context // ends when the page is closed
	close   func()
	streams chan struct{} // has room for one more while there may be one more
	changes atomic.Int64

	mu   sync.Mutex
	wake chan struct{} // closed at the next change
}

// New returns the page of a fake, which must call Changed for each change of its journal.
func New(srv *fake.Server) *Page {
	p := &Page{
		srv: srv, Journal: journal.New(srv), layout: newLayout(), streams: make(chan struct{}, maxStreams), wake: make(chan struct{}),
	}
	p.open, p.close = context.WithCancel(context.Background())
	return p
}

// Ahead returns how far the service's time is ahead of the machine's, in whole seconds, since the
// two clocks are not read at the same moment.
func (p *Page) Ahead() time.Duration { return time.Until(p.srv.Now()).Round(time.Second) }

// Changed wakes the streams of events. It is called when the journal or the state has changed.
func (p *Page) Changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes.Add(1)
	close(p.wake)
	p.wake = make(chan struct{})
}

// changed returns the number of changes so far, and a channel that is closed at the next one.
func (p *Page) changed() (int64, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changes.Load(), p.wake
}

// Close ends the streams of events, which do not end by themselves.
func (p *Page) Close() { p.close() }

// maxStreams bounds the streams of events: a browser keeps six for a host at most.
const maxStreams = 100

// ErrStreams is the error of Events for a stream too many.
var ErrStreams = errors.New("there are 100 streams of events already")

// The times of an event stream.
const (
	eventPause  = 60 * time.Millisecond // between two events, so that a burst is one
	beatPause   = 2 * time.Second       // without changes, after which a stream shows that it lives
	sendTimeout = 10 * time.Second      // for a reader to make room for an event
)

// Events handles GET /_fake/events: server-sent events that say when something has changed, and a
// beat now and then. The id of an event is the number of changes, so that a page that shows them
// asks for nothing.
func (p *Page) Events(w http.ResponseWriter, r *http.Request) error {
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		return ErrStreams
	}
	w.Header().Set("Content-Type", "text/event-stream")
	conn := http.NewResponseController(w)
	event := "retry: 1000\ndata: changed\n"
	for {
		changes, changed := p.changed()
		_ = conn.SetWriteDeadline(time.Now().Add(sendTimeout)) // a writer that has none is not slow
		if _, err := fmt.Fprintf(w, "%sid: %d\n\n", event, changes); err != nil || conn.Flush() != nil {
			return nil // the reader is gone
		}
		event = "data: changed\n"
		p.wait(r.Context(), eventPause, nil)
		if !p.wait(r.Context(), beatPause, changed) {
			event = "event: beat\ndata:\n"
		}
		if r.Context().Err() != nil || p.open.Err() != nil {
			return nil
		}
	}
}

// wait waits for a time, or until something wakes it, which it reports.
func (p *Page) wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-p.open.Done():
	case <-timer.C:
	case <-wake:
		return true
	}
	return false
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
		text, _ := pageFiles.ReadFile("page/" + name) // it is embedded
		return string(text)
	}
	style, script := read("page.css"), ""
	for _, name := range []string{"morph", "program", "list", "stream"} {
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
	h := w.Header()
	h.Set("Content-Security-Policy", p.layout.policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	return p.write(w, r, "page")
}

// Parts handles GET /_fake/page: what changes on the page, for the query of its address.
func (p *Page) Parts(w http.ResponseWriter, r *http.Request) error { return p.write(w, r, "parts") }

func (p *Page) write(w http.ResponseWriter, r *http.Request, name string) error {
	var text bytes.Buffer
	if err := p.layout.template.ExecuteTemplate(&text, name, p.state(r)); err != nil {
		return err // of the template
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // an error says that the client is gone
	return nil
}

package requestpage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"mime"
	"net/http"
	"strconv"
	"strings"
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
	state   func() State
	feed    *feed
	journal *journal.Journal
	traffic traffic
	streams atomic.Int32
	layout  layout
}

// Notifier is what the fake calls for each change of its journal, before there is a [Page].
type Notifier struct{ feed *feed }

// NewNotifier returns a notifier for [New] and [fakecontrol.New].
func NewNotifier() Notifier { return Notifier{newFeed()} }

// Notify records that the request with the number seq has changed.
func (n Notifier) Notify(seq int) { n.feed.touch(seq) }

// New returns the page of a fake. state returns what the fake does not know.
func New(srv *fakecontrol.Server, n Notifier, state func() State) *Page {
	return &Page{srv: srv, state: state, feed: n.feed, journal: journal.New(srv), layout: newLayout()}
}

// Answered records the response to a request of the service, with status 0 if there was none.
func (p *Page) Answered(r *http.Request, status int, h http.Header) {
	_, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	p.traffic.add(p.srv.Now(), p.srv.KeyNumber(key), status, h)
	p.feed.touch(0)
}

// Changed records that the state has changed.
func (p *Page) Changed() { p.feed.touch(0) }

// Clear clears the journal.
func (p *Page) Clear() {
	p.journal.Update(p.feed.position().journal) // so that what is cleared does not count as dropped
	p.srv.ClearRequests()
	p.feed.restart()
}

// Reset forgets the traffic, and records that the journal was cleared.
func (p *Page) Reset() {
	p.traffic.reset()
	p.feed.restart()
}

// Close ends the streams of events, which do not end by themselves.
func (p *Page) Close() { p.feed.close() }

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
	style    template.CSS
	script   template.JS
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
		"count": count, "many": many, "words": Words, "milli": time.Time.UnixMilli, "statuses": statuses,
	})
	return layout{
		template: template.Must(page.Parse(read("page.html") + read("parts.html"))),
		style:    template.CSS(style), //nolint:gosec // a file that is embedded
		script:   template.JS(script), //nolint:gosec // a file that is embedded
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

// Package ui tests the request page of petstore-fake in a real browser: Chromium, headless.
//
// Without Chromium, the tests are skipped or, if PETSTORE_UI is set, fail. .ci/run sets it in the
// step ui. Before that, the step fetch installs what the tests need.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admin"
	"github.com/petstore/petstore-go/fake"
)

// patience is how long a test waits for the browser at most. It is long, because the machine may be
// busy. A test that measures times measures them in the page.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	status := m.Run()
	if ctx, err := startBrowser(); err == nil {
		_ = chromedp.Cancel(ctx) // closes the browser, and waits until it has ended
	}
	os.Exit(status)
}

// startBrowser starts the browser that all tests share, with a new, empty profile. In this browser,
// each tab has a profile of its own.
var startBrowser = sync.OnceValues(func() (context.Context, error) {
	ctx, _ := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
		chromedp.NoSandbox, // root cannot have a sandbox
		chromedp.Flag("hide-scrollbars", false),
	))
	return ctx, chromedp.Do(ctx)
})

// tab is a tab of the browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// openPage starts a program on a free port, and opens its page in a new tab. The test fails if the
// tab's console has an error or a warning.
func openPage(t *testing.T, opts ...fake.Option) (*program, *tab) {
	t.Helper()
	browser, err := startBrowser()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("PETSTORE_UI") == "" {
		t.Skip("there is no Chromium on the path: install Debian's package chromium")
	}
	require.NoError(t, err)
	p := start(t, "127.0.0.1:0", opts...)
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b, messages := &tab{t, ctx}, chromedp.Console(ctx)
	t.Cleanup(func() {
		b.run(`console.info("the end")`)
		for m := range messages {
			if m.Text == "the end" {
				break
			}
			serious := slices.Contains([]chromedp.ConsoleType{"warning", "error", "exception"}, m.Type)
			assert.False(t, serious && m.Source != "network", "%v %s", m, m.URL) // tests break the network on purpose
		}
	})
	b.size(1280)
	b.open(p, "")
	return p, b
}

// do runs an action in the browser, and returns the result of the action.
func do[T any](b *tab, step chromedp.Action[T]) T {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Run(ctx, step)
	require.NoError(b.t, err)
	return result
}

func (b *tab) size(width int64) { do(b, chromedp.EmulateViewport(width, 800)) }

// open opens the request page, and waits until the page has got its first response.
func (b *tab) open(p *program, query string) {
	do(b, chromedp.Navigate(p.origin+"/_fake/"+query))
	b.until(`document.getElementById("live")?.dataset.state === "live" && document.getElementById("clock").dateTime !== ""`)
}

// value evaluates a JavaScript expression in the page, and returns the value.
func value[T any](b *tab, expression string) T {
	return do(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until an expression is true in the page.
func (b *tab) until(expression string) {
	deadline := time.Now().Add(patience)
	for !value[bool](b, "Boolean("+expression+")") {
		if time.Now().After(deadline) {
			require.FailNow(b.t, "it never came to: "+expression, value[string](b, "document.body.innerText"))
		}
		<-time.After(10 * time.Millisecond)
	}
}

// text waits until an element contains a text.
func (b *tab) text(selector, want string) {
	b.until(fmt.Sprintf("document.querySelector(%q)?.innerText.includes(%q)", selector, want)) // %q is JavaScript, too
}

func (b *tab) click(selector string) { do(b, chromedp.Click(chromedp.CSS(selector))) }

// send writes text into the first field of a form, and submits the form.
func (b *tab) send(form, text string) {
	b.run(fmt.Sprintf(`byId(%q).elements[0].value = %q; byId(%[1]q).requestSubmit()`, form, text))
}

// find writes into the field Find.
func (b *tab) find(text string) {
	b.run(fmt.Sprintf(`find.value = %q; find.dispatchEvent(new Event("input", {bubbles: true}))`, text))
}

// run runs statements in the page.
func (b *tab) run(statements string) {
	value[bool](b, "(() => { "+statements+"; return true; })()")
}

func (b *tab) press(key string) { do(b, chromedp.KeyEvent(key)) }

// rows waits until the list has n rows.
func (b *tab) rows(n int) {
	b.until(fmt.Sprintf(`document.querySelectorAll("#list tbody").length === %d`, n))
}

// newest waits until the first row of the list is the request with the number seq.
func (b *tab) newest(seq int) {
	b.until(fmt.Sprintf(`links()[0] && seqOf(links()[0]) === %d`, seq))
}

// program serves a fake and its admin routes on a port, as petstore-fake does.
type program struct {
	t       *testing.T
	origin  string
	stopped sync.RWMutex // while a test holds this lock, no request gets a response
	server  http.Server
}

// start starts a program at an address. The port 0 stands for a free port. The program ends with
// the test.
func start(t *testing.T, addr string, opts ...fake.Option) *program {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	srv, p := fake.NewServer(opts...), &program{t: t, origin: "http://" + l.Addr().String()}
	api := admin.New(srv, srv, admin.Config{Plan: fake.PlanBusiness})
	p.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.stopped.RLock()
		defer p.stopped.RUnlock()
		api.ServeHTTP(w, r)
	})
	go func() { _ = p.server.Serve(l) }() // returns when the server is closed
	t.Cleanup(func() {
		_ = p.server.Close()
		srv.Close()
	})
	return p
}

// send sends a request with the default key, and waits for the whole response, or for an error.
func (p *program) send(method, path, body string) {
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.origin+path, strings.NewReader(body))
	require.NoError(p.t, err)
	r.Header = http.Header{"Authorization": {"Bearer " + fake.DefaultAPIKey}, "Content-Type": {"application/json"}}
	if resp, err := http.DefaultClient.Do(r); err == nil { // a fault may break the connection
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// list calls listPets the given number of times.
func (p *program) list(times int) {
	for range times {
		p.send(http.MethodGet, "/v1/pets?status=available&limit=50", "")
	}
}

// morning sends what clients and a tester send in five minutes of work, so that each part of the
// page has something to show. The service's clock moves, so that the test need not wait.
func (p *program) morning() {
	for _, name := range []string{"Rex", "Mimi", "Hazel"} {
		p.send(http.MethodPost, "/_fake/pets", "categoryId=2,status=available,name="+name)
	}
	for i := range 46 {
		p.list(1 + (i*7)%5 + i%3*2)
		p.send(http.MethodPost, "/_fake/clock", `advance=5s`)
	}
	p.send(http.MethodPost, "/_fake/clock", `advance=61s`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Nori"}`)
	p.send(http.MethodGet, "/v1/pets/3", "")
	p.send("POST", "/_fake/faults", `[{"wire":"truncate"},{"status":503,"afterCommit":true,"operation":"createPet"}]`)
	p.list(2)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Nori","categoryId":2,"status":"pending"}`)
	p.send(http.MethodPatch, "/_fake/keys/1", `plan={"perMinute":4,"perDay":1000}`)
	p.list(3)
	p.send(http.MethodPost, "/_fake/faults", "status=503,chance=0.1,times=-1,for=10m")
}

package requestpage

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testPage is a page with its fake.
type testPage struct {
	*Page
	t *testing.T
}

// newTestPage returns a page of a fake whose default key is key, or that of package fake.
func newTestPage(t *testing.T, key string, opts ...fake.Option) testPage {
	t.Helper()
	var p *Page
	srv := fakecontrol.New(key, func(int) { p.Changed() }, opts...)
	p = New(srv)
	t.Cleanup(func() {
		p.Close()
		srv.Close()
	})
	return testPage{p, t}
}

// call sends a request to the service with the default key.
func (p testPage) call(method, path, body string) {
	p.t.Helper()
	p.callAs(fake.DefaultAPIKey, method, path, body)
}

func (p testPage) callAs(key, method, path, body string) {
	p.t.Helper()
	r := httptest.NewRequestWithContext(p.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	p.srv.ServeHTTP(httptest.NewRecorder(), r)
}

// get sends a request to a handler of the page.
func (p testPage) get(handler func(http.ResponseWriter, *http.Request) error, query string) *httptest.ResponseRecorder {
	p.t.Helper()
	r := httptest.NewRequestWithContext(p.t.Context(), http.MethodGet, "/_fake/?"+query, http.NoBody)
	r.Host = "127.0.0.1:4010"
	w := httptest.NewRecorder()
	if err := handler(w, r); err != nil {
		httpjson.WriteError(w, err)
	}
	return w
}

// parts returns what changes on the page, with the text as a reader sees it.
func (p testPage) parts(query string) string {
	p.t.Helper()
	w := p.get(p.Parts, query)
	require.Equal(p.t, http.StatusOK, w.Code, w.Body)
	return html.UnescapeString(w.Body.String())
}

// reader is the client of a stream of events.
type reader struct {
	*httptest.ResponseRecorder
	events chan string
}

// Write takes an event.
func (r reader) Write(p []byte) (int, error) {
	r.events <- string(p)
	return len(p), nil
}

// follow opens a stream of events, whose reader is there until the context ends.
func (p testPage) follow(ctx context.Context) (events <-chan string, ended <-chan error) {
	p.t.Helper()
	w, done := reader{httptest.NewRecorder(), make(chan string, 10)}, make(chan error, 1)
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/_fake/events", http.NoBody)
	go func() { done <- p.Events(w, r) }()
	return w.events, done
}

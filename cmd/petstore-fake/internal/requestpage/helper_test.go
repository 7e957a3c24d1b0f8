package requestpage

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admintest"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// testPage is a page with its fake and the routes that belong to the page.
type testPage struct {
	*Page
	t *testing.T
}

// newTestPage returns a page of a fake.
func newTestPage(t *testing.T, opts ...fake.Option) testPage {
	t.Helper()
	return newTestPageOf(t, "", opts...)
}

// newTestPageOf returns a page of a fake whose default key is key.
func newTestPageOf(t *testing.T, key string, opts ...fake.Option) testPage {
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

// ServeHTTP serves the routes of the page, and those of the service.
func (p testPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_fake/") {
		mux := http.NewServeMux()
		mux.Handle("/_fake/{$}", httpjson.Handler(p.Show))
		mux.Handle("/_fake/events", httpjson.Handler(p.Events))
		mux.Handle("/_fake/har", httpjson.Handler(p.HAR))
		mux.Handle("/_fake/requests", httpjson.Handler(p.List))
		mux.Handle("/_fake/requests/{id}", httpjson.Endpoint(p.Get))
		mux.Handle("/_fake/requests/{id}/{form}", httpjson.Handler(p.Code))
		mux.Handle("POST /_fake/requests/{id}/repeat", httpjson.Endpoint(p.Repeat))
		mux.ServeHTTP(w, r)
		return
	}
	recorder := httptest.NewRecorder()
	defer func() { p.Answered(r, recorder.Code, recorder.Header()) }()
	p.srv.ServeHTTP(recorder, r)
	w.WriteHeader(recorder.Code)
}

// send sends a request. A stream of events ends after the first.
func (p testPage) send(r *http.Request) *httptest.ResponseRecorder { return admintest.Send(p, r) }

// call sends a request with the default key.
func (p testPage) call(method, path, body string) *httptest.ResponseRecorder {
	p.t.Helper()
	return p.callAs(fake.DefaultAPIKey, method, path, body)
}

func (p testPage) callAs(key, method, path, body string) *httptest.ResponseRecorder {
	p.t.Helper()
	r := admintest.Request(p.t, method, path, body)
	r.Header.Set("Authorization", "Bearer "+key)
	return p.send(r)
}

// browse returns the page as a browser gets it.
func (p testPage) browse(path string) (text string, header http.Header) {
	p.t.Helper()
	w := p.send(admintest.Request(p.t, "GET", path, ""))
	require.Equal(p.t, http.StatusOK, w.Code, w.Body)
	return w.Body.String(), w.Header()
}

// delayed returns a fault that delays the next response.
func delayed(d time.Duration) fake.Fault { return fake.Fault{Delay: d} }

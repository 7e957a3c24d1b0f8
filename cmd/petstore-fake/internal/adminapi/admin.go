// Package adminapi serves the routes below /_fake/, which steer a fake and show its state and
// journal. The request page is in package requestpage.
package adminapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// Path is the path of the admin routes.
const Path = "/_fake/"

// API serves the routes that steer the fake and show its state. It is safe for concurrent use.
type API struct {
	srv   *fakecontrol.Server
	guard guard
	mux   *http.ServeMux
	page  *requestpage.Page
	doc   []byte

	mu sync.Mutex // held for changes that depend on the state
}

// New returns the admin routes of a fake. document is the OpenAPI document of the service, in YAML.
// public allows the routes to be called by any IP address, and by names. The caller closes the page
// and the fake.
func New(srv *fakecontrol.Server, document []byte, public bool, names []string) *API {
	a := &API{
		srv: srv, mux: http.NewServeMux(), page: requestpage.New(srv), doc: document, guard: guard{public, names},
	}
	methods := make(map[string]map[string]http.Handler)
	for _, r := range a.routes() {
		if methods[r.Path] == nil {
			methods[r.Path] = make(map[string]http.Handler)
		}
		methods[r.Path][r.Method] = r.handler
	}
	a.mux.Handle(Path, httpjson.Endpoint(noSuchRoute))
	for path, handlers := range methods {
		if path == Path {
			path += "{$}" // it alone
		}
		a.mux.Handle(path, byMethod(handlers))
	}
	return a
}

// Page returns the request page of the fake.
func (a *API) Page() *requestpage.Page { return a.page }

// ServeHTTP serves an admin request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := a.guard.check(r); err != nil {
		httpjson.WriteError(w, err)
		return
	}
	if !isSafe(r.Method) {
		defer a.page.Changed()
	}
	a.mux.ServeHTTP(w, r)
}

// byMethod returns the handler of a path. A method without a handler gets 405. The patterns of the
// mux have no methods, because its own response with 405 is not JSON.
func byMethod(handlers map[string]http.Handler) http.Handler {
	if get, ok := handlers[http.MethodGet]; ok {
		handlers[http.MethodHead] = get // net/http sends no body
	}
	allow := strings.Join(slices.Sorted(maps.Keys(handlers)), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, ok := handlers[r.Method]; ok {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", allow)
		httpjson.WriteError(w, httpjson.Errorf(http.StatusMethodNotAllowed,
			"%s is not a method of this route; it has %s", spec.Clip(r.Method), allow))
	})
}

func noSuchRoute(r *http.Request) (any, error) {
	return nil, httpjson.Errorf(http.StatusNotFound, "there is no admin route %s; GET %s lists them", spec.Clip(r.URL.Path), Path)
}

// Package adminapi serves the routes below /_fake/, which steer a fake and show its state and
// journal. The request page is in package requestpage.
package adminapi

import (
	"net/http"
	"strings"
	"sync"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// Path is the path of the admin routes.
const Path = "/_fake/"

// maxBody bounds the body of an admin request, in bytes: 1 MiB, as for requests of the service.
const maxBody = 1 << 20

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
	a.mux.Handle(Path, handler(a.noSuchRoute))
	for _, r := range a.routes() {
		pattern := r.Method + " " + r.Path
		if r.Path == Path {
			pattern += "{$}" // it alone
		}
		a.mux.Handle(pattern, r.handler)
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
	if !a.guard.public { // over plain http from another machine, browsers ignore it with an error in the console
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	if err := a.guard.check(r); err != nil {
		httpjson.WriteError(w, err)
		return
	}
	if !isSafe(r.Method) {
		defer a.page.Changed()
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	a.mux.ServeHTTP(w, r)
}

// noSuchRoute handles what no route fits. A path with other methods gets 405 and their names.
func (a *API) noSuchRoute(w http.ResponseWriter, r *http.Request) error {
	var methods []string
	for _, method := range []string{del, get, http.MethodHead, post, put} {
		other := &http.Request{Method: method, Host: r.Host, URL: r.URL}
		if _, pattern := a.mux.Handler(other); pattern != Path {
			methods = append(methods, method)
		}
	}
	if methods == nil {
		return httpjson.Errorf(http.StatusNotFound, "there is no admin route %s; GET %s lists them", spec.Clip(r.URL.Path), Path)
	}
	allow := strings.Join(methods, ", ")
	w.Header().Set("Allow", allow)
	return httpjson.Errorf(http.StatusMethodNotAllowed,
		"%s is not a method of this route; it has %s", spec.Clip(r.Method), allow)
}

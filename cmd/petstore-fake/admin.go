package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// adminPath is where the admin routes are.
const adminPath = "/_fake/"

// admin serves the routes by which the fake is steered and looked at.
type admin struct {
	srv     *fake.Server
	guard   guard
	judge   *judge
	mux     *http.ServeMux
	keys    *keybook
	page    *page
	feed    *feed
	traffic *traffic
	latency *latency
	streams atomic.Int32

	mu       sync.Mutex
	faults   faultBook
	advanced time.Duration
}

func newAdmin(s settings, srv *fake.Server, keys *keybook, f *feed) *admin {
	a := &admin{
		srv: srv, keys: keys, judge: newJudge(), mux: http.NewServeMux(),
		guard: guard{public: s.public, names: s.names},
		page:  newPage(), feed: f, traffic: new(traffic), latency: new(latency),
	}
	a.latency.store(s.latency)
	for _, f := range s.faults {
		a.faults.add(f, srv.Inject(f))
	}
	methods := make(map[string]map[string]http.Handler)
	for _, r := range a.routes() {
		if methods[r.pattern] == nil {
			methods[r.pattern] = make(map[string]http.Handler)
		}
		methods[r.pattern][r.method] = r.handler
	}
	for pattern, handlers := range methods {
		a.mux.Handle(pattern, byMethod(handlers))
	}
	a.mux.Handle(adminPath, endpoint(noSuchRoute))
	return a
}

// ServeHTTP answers an admin request.
func (a *admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := a.guard.check(r); err != nil {
		writeProblem(w, err)
		return
	}
	if !isSafe(r.Method) {
		defer a.feed.touch(0)
	}
	a.mux.ServeHTTP(w, r)
}

// origin is the scheme and the authority under which a request that the guard let through has called
// the program. A port may have been mapped to another on the way, as into a container.
func origin(r *http.Request) string { return "http://" + r.Host }

// byMethod answers a path's requests by their methods, and others with 405.
func byMethod(handlers map[string]http.Handler) http.Handler {
	if get, ok := handlers[http.MethodGet]; ok {
		handlers[http.MethodHead] = get // net/http leaves the body out
	}
	var methods []string
	for method := range handlers {
		methods = append(methods, method)
	}
	slices.Sort(methods)
	allow := strings.Join(methods, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, ok := handlers[r.Method]; ok {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", allow)
		writeProblem(w, &problem{
			http.StatusMethodNotAllowed, clip(r.Method) + " is not a method of this route; it has " + allow,
		})
	})
}

func noSuchRoute(r *http.Request) (any, error) {
	return nil, notFound("there is no admin route %s; GET %s lists them", clip(r.URL.Path), adminPath)
}

// isAdmin reports whether a path is that of an admin route.
func isAdmin(path string) bool {
	return strings.HasPrefix(path, adminPath) || path == strings.TrimSuffix(adminPath, "/")
}

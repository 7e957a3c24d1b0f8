// Package adminapi serves the routes below /_fake/, which steer a fake and show its state and
// journal. The request page is in package requestpage.
package adminapi

import (
	"net/http"
	"strings"
	"sync"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// Path is the path of the admin routes.
const Path = "/_fake/"

// Health is the path of the route for health checks. Requests to it may name any Host, as those of
// orchestrators do.
const Health = Path + "health"

// maxBody bounds the body of an admin request, in bytes: 1 MiB, as for requests of the service.
const maxBody = 1 << 20

// API serves the routes that steer the fake and show its state. It is safe for concurrent use.
type API struct {
	srv   *fake.Server
	guard guard
	mux   *http.ServeMux
	page  *requestpage.Page

	mu sync.Mutex // held for changes that depend on the state
}

// New returns the admin routes of a fake. With public, requests may also have any IP address as
// their Host, or one of names. The caller closes the fake.
func New(srv *fake.Server, public bool, names []string) *API {
	a := &API{srv: srv, mux: http.NewServeMux(), page: requestpage.New(srv), guard: guard{public, names}}
	a.mux.Handle(Path, handler(func(_ http.ResponseWriter, r *http.Request) error {
		return refuse(http.StatusNotFound, "there is no admin route %s %s; GET %s lists them",
			spec.Clip(r.Method), spec.Clip(r.URL.Path), Path)
	}))
	for _, r := range a.routes() {
		pattern := r.Method + " " + r.Path
		if r.Path == Path {
			pattern += "{$}" // this path, and none below it
		}
		a.mux.Handle(pattern, r.handler)
	}
	return a
}

// Page returns the request page of the fake.
func (a *API) Page() *requestpage.Page { return a.page }

// ServeHTTP serves an admin request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := a.guard.check(r); err != nil {
		writeError(w, err)
		return
	}
	if !isSafe(r.Method) {
		defer a.page.Changed()
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	a.mux.ServeHTTP(w, r)
}

type route struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	About   string `json:"about"`
	handler handler
}

const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete

func (a *API) routes() []route {
	return []route{
		{get, Path, "the request page for a browser, these routes for others", a.front},
		{get, Health, "status 200 as soon as the program serves", ok(a.health)},
		{post, "/_fake/reset", "puts everything back to the start of the program", ok(done(a.reset))},
		{get, "/_fake/requests", "the newest requests of the journal; limit=100, text=status:429 key:2", a.listRequests},
		{get, "/_fake/requests/{id}", "a request by its seq, with a curl command", ok(a.onRequest(a.getRequest))},
		{post, "/_fake/requests/{id}/repeat", "sends it again, with its key", created(a.onRequest(a.repeat))},
		{del, "/_fake/requests", "clears the journal", ok(done(a.page.Journal.Clear))},
		{get, "/_fake/page", "what changes on the request page, as HTML", a.page.Parts},
		{get, "/_fake/violations", "what a well-behaved client does not do", ok(a.violations)},
		{get, "/_fake/pets", "the catalogue", ok(a.listPets)},
		{post, "/_fake/pets", `{"name":"Rex","categoryId":1} adds a pet, an array several`, created(reading(spec.ParsePets, a.addPets))},
		{get, "/_fake/keys", "the keys, with plans and windows", ok(a.listKeys)},
		{post, "/_fake/keys", "team-key-000001=pro adds a key, as -key takes it", created(reading(spec.ParseKeys, a.addKeys))},
		{get, "/_fake/keys/{id}", "a key", ok(reading(anything, onKey(a, func(string, string) {})))},
		{del, "/_fake/keys/{id}", "revokes a key", ok(reading(anything, onKey(a, func(key, _ string) { a.srv.RevokeKey(key) })))},
		{put, "/_fake/keys/{id}/plan", "pro changes its plan", ok(reading(spec.ParseText[fake.Plan], onKey(a, a.srv.SetPlan)))},
		{put, "/_fake/keys/{id}/usage", "minute=60,day=1000 uses them up", ok(reading(spec.ParseUsage, onKey(a, a.setUsage)))},
		{put, "/_fake/keys/{id}/ban", "10m bans it, 0s lifts its ban", ok(reading(spec.ParseDuration, onKey(a, a.srv.BanKey)))},
		{get, "/_fake/faults", "the faults, with how often each has struck", ok(a.listFaults)},
		{post, "/_fake/faults", "status=503,times=2; wire=reset injects faults, as -fault takes them", created(reading(spec.ParseFaults, a.inject))},
		{del, "/_fake/faults", "removes all faults", ok(done(a.removeFaults))},
		{post, "/_fake/faults/{id}", "injects a fault again", created(a.onFault(func(i *fake.Injection) any {
			return a.showFault(a.srv.Inject(i.Fault()))
		}))},
		{del, "/_fake/faults/{id}", "removes a fault", ok(a.onFault(func(i *fake.Injection) any { i.Remove(); return nil }))},
		{get, "/_fake/clock", "the service's time", ok(a.clock)},
		{post, "/_fake/clock", "1m moves it, -1m back", ok(reading(spec.ParseStep, a.advance))},
		{put, "/_fake/clock", "2030-12-05T00:00:00Z sets it", ok(reading(spec.ParseTime, a.setClock))},
	}
}

// anything accepts any body, for a route that does not use it.
func anything(text string) (string, error) { return text, nil }

// front handles GET /_fake/: a browser gets the page, and a program the index.
func (a *API) front(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Vary", "Accept")
	// A program sends */*, which does not ask for a page.
	if strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/html") {
		return a.page.Show(w, r)
	}
	writeJSON(w, http.StatusOK, object{
		"program": "petstore-fake", "version": petstore.Version, "baseUrl": "http://" + r.Host + "/v1", "routes": a.routes(),
	})
	return nil
}

func (a *API) health(*http.Request) (any, error) {
	return object{"status": "ok", "version": petstore.Version}, nil
}

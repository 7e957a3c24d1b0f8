package adminapi

import (
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
)

// route is an admin route.
type route struct {
	method  string
	pattern string
	about   string
	handler http.Handler
}

// routes returns the admin routes in the order in which they are listed.
func (a *API) routes() []route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return []route{
		{
			get, "/_fake/{$}", "the request page for a browser, these routes for others",
			httpjson.Handler(a.front),
		},
		{
			get, "/_fake/requests", "the journal; filters: operation, method, status, key, fault, since, limit",
			httpjson.Endpoint(a.page.List),
		},
		{get, "/_fake/requests/{id}", "a request by its seq, with a curl command", httpjson.Endpoint(a.page.Get)},
		{del, "/_fake/requests", "clears the journal", httpjson.Endpoint(a.clearRequests)},
		{
			get, "/_fake/har", "the journal as HTTP archive (HAR 1.2); filters: as above",
			httpjson.Handler(a.page.HAR),
		},
		{
			get, "/_fake/events", "what happens, as server-sent events; filters: as above",
			httpjson.Handler(a.page.Events),
		},
		{get, "/_fake/violations", "what a well-behaved client would not have done", httpjson.Endpoint(a.violations)},
		{post, "/_fake/reset", "starts afresh; keys, plans and the clock stay", httpjson.Endpoint(a.reset)},
		{get, "/_fake/clock", "the service's time", httpjson.Endpoint(a.clock)},
		{post, "/_fake/clock", `{"advance":"1m"} moves the clock`, httpjson.Endpoint(a.advance)},
		{get, "/_fake/latency", "how long every answer of the service is held back", httpjson.Endpoint(a.getLatency)},
		{put, "/_fake/latency", `{"latency":"50ms"} changes that`, httpjson.Endpoint(a.setLatency)},
		{get, "/_fake/faults", "the faults, with how often each has struck", httpjson.Endpoint(a.listFaults)},
		{post, "/_fake/faults", `{"status":503,"times":2} injects a fault`, httpjson.Endpoint(a.inject)},
		{del, "/_fake/faults", "removes all faults", httpjson.Endpoint(a.removeFaults)},
		{del, "/_fake/faults/{id}", "removes a fault", httpjson.Endpoint(a.removeFault)},
		{get, "/_fake/keys", "the keys, with plans and windows", httpjson.Endpoint(a.listKeys)},
		{post, "/_fake/keys", `{"key":"team-key-000001","plan":"pro"} adds a key`, httpjson.Endpoint(a.addKey)},
		{get, "/_fake/keys/{id}", "a key", httpjson.Endpoint(a.getKey)},
		{del, "/_fake/keys/{id}", "revokes a key", httpjson.Endpoint(a.revokeKey)},
		{put, "/_fake/keys/{id}/plan", `{"plan":"free"} changes its plan`, httpjson.Endpoint(a.setPlan)},
		{put, "/_fake/keys/{id}/ban", `{"duration":"10m"} bans it`, httpjson.Endpoint(a.ban)},
		{del, "/_fake/keys/{id}/ban", "lifts its ban", httpjson.Endpoint(a.liftBan)},
		{get, "/_fake/pets", "the catalogue; filters: status, after, limit", httpjson.Endpoint(a.listPets)},
		{post, "/_fake/pets", `{"name":"Rex","categoryId":1} adds an animal`, httpjson.Endpoint(a.addPet)},
		{get, "/_fake/pets/{id}", "an animal", httpjson.Endpoint(a.getPet)},
		{put, "/_fake/pets/{id}/status", `{"status":"sold"} gives it another status`, httpjson.Endpoint(a.setStatus)},
		{del, "/_fake/pets/{id}", "deletes it", httpjson.Endpoint(a.deletePet)},
		{get, "/_fake/openapi", "the service as an OpenAPI document (YAML)", http.HandlerFunc(openapi)},
	}
}

// shownRoute is a route as the index lists it.
type shownRoute struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	About  string `json:"about"`
}

// front handles GET /_fake/: a browser gets the page, and a program the index.
func (a *API) front(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Vary", "Accept")
	if requestpage.WantsHTML(r) {
		return a.page.Show(w, r)
	}
	httpjson.Endpoint(a.index).ServeHTTP(w, r)
	return nil
}

// index handles GET /_fake/ of a program.
func (a *API) index(r *http.Request) (any, error) {
	var list []shownRoute
	for _, r := range a.routes() {
		path := r.pattern
		if path == Path+"{$}" {
			path = Path
		}
		list = append(list, shownRoute{r.method, path, r.about})
	}
	return struct {
		Program string       `json:"program"`
		Version string       `json:"version"`
		BaseURL string       `json:"baseUrl"`
		Routes  []shownRoute `json:"routes"`
	}{"petstore-fake", petstore.Version, httpjson.Origin(r) + "/v1", list}, nil
}

// reset handles POST /_fake/reset.
func (a *API) reset(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.srv.Reset()
	a.faults = faultBook{last: a.faults.last}
	a.page.Reset()
	return nil, nil
}

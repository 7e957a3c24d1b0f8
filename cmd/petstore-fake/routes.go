package main

import (
	"net/http"

	petstore "github.com/petstore/petstore-go"
)

// route is an admin route.
type route struct {
	method  string
	pattern string
	about   string
	handler http.Handler
}

// routes returns the admin routes in the order in which they are listed.
func (a *admin) routes() []route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return []route{
		{
			get, "/_fake/{$}", "the request page for a browser, these routes for others",
			http.HandlerFunc(a.front),
		},
		{
			get, "/_fake/requests", "the journal; filters: operation, method, status, key, fault, since, limit",
			endpoint(a.listRequests),
		},
		{get, "/_fake/requests/{id}", "a request by its seq, with a curl command", endpoint(a.getRequest)},
		{del, "/_fake/requests", "clears the journal", endpoint(a.clearRequests)},
		{
			get, "/_fake/har", "the journal as HTTP archive (HAR 1.2); filters: as above",
			http.HandlerFunc(a.har),
		},
		{
			get, "/_fake/events", "what happens, as server-sent events; filters: as above",
			http.HandlerFunc(a.events),
		},
		{get, "/_fake/violations", "what a well-behaved client would not have done", endpoint(a.violations)},
		{post, "/_fake/reset", "starts afresh; keys, plans and the clock stay", endpoint(a.reset)},
		{get, "/_fake/clock", "the service's time", endpoint(a.clock)},
		{post, "/_fake/clock", `{"advance":"1m"} moves the clock`, endpoint(a.advance)},
		{get, "/_fake/latency", "how long every answer of the service is held back", endpoint(a.getLatency)},
		{put, "/_fake/latency", `{"latency":"50ms"} changes that`, endpoint(a.setLatency)},
		{get, "/_fake/faults", "the faults, with how often each has struck", endpoint(a.listFaults)},
		{post, "/_fake/faults", `{"status":503,"times":2} injects a fault`, endpoint(a.inject)},
		{del, "/_fake/faults", "removes all faults", endpoint(a.removeFaults)},
		{del, "/_fake/faults/{id}", "removes a fault", endpoint(a.removeFault)},
		{get, "/_fake/keys", "the keys, with plans and windows", endpoint(a.listKeys)},
		{post, "/_fake/keys", `{"key":"team-key-000001","plan":"pro"} adds a key`, endpoint(a.addKey)},
		{get, "/_fake/keys/{id}", "a key", endpoint(a.getKey)},
		{del, "/_fake/keys/{id}", "revokes a key", endpoint(a.revokeKey)},
		{put, "/_fake/keys/{id}/plan", `{"plan":"free"} changes its plan`, endpoint(a.setPlan)},
		{put, "/_fake/keys/{id}/ban", `{"duration":"10m"} bans it`, endpoint(a.ban)},
		{del, "/_fake/keys/{id}/ban", "lifts its ban", endpoint(a.liftBan)},
		{get, "/_fake/pets", "the catalogue; filters: status, after, limit", endpoint(a.listPets)},
		{post, "/_fake/pets", `{"name":"Rex","categoryId":1} adds an animal`, endpoint(a.addPet)},
		{get, "/_fake/pets/{id}", "an animal", endpoint(a.getPet)},
		{put, "/_fake/pets/{id}/status", `{"status":"sold"} gives it another status`, endpoint(a.setStatus)},
		{del, "/_fake/pets/{id}", "deletes it", endpoint(a.deletePet)},
		{get, "/_fake/openapi", "the service as an OpenAPI document (YAML)", http.HandlerFunc(openapi)},
	}
}

// shownRoute is a route as the index lists it.
type shownRoute struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	About  string `json:"about"`
}

// index answers GET /_fake/.
func (a *admin) index(r *http.Request) (any, error) {
	var list []shownRoute
	for _, r := range a.routes() {
		path := r.pattern
		if path == adminPath+"{$}" {
			path = adminPath
		}
		list = append(list, shownRoute{r.method, path, r.about})
	}
	return struct {
		Program string       `json:"program"`
		Version string       `json:"version"`
		BaseURL string       `json:"baseUrl"`
		Routes  []shownRoute `json:"routes"`
	}{program, petstore.Version, origin(r) + "/v1", list}, nil
}

// reset answers POST /_fake/reset.
func (a *admin) reset(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.srv.Reset()
	a.faults = faultBook{last: a.faults.last}
	a.traffic.reset()
	a.feed.restart()
	return nil, nil
}

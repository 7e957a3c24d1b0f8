package fake

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// Operation is an operation of the service document (section 4).
type Operation struct {
	Name   string // such as [petstore.OpGetPet]
	Method string
	Path   string // below the base address, with parameters in braces: /pets/{petId}
	Status int    // of a success

	serve func(*exchange) response // nil for a path that the service does not have
}

// Operations returns the operations of the document.
func Operations() []Operation {
	return []Operation{
		{petstore.OpListPets, http.MethodGet, "/pets", http.StatusOK, (*exchange).listPets},
		{petstore.OpCreatePet, http.MethodPost, "/pets", http.StatusCreated, (*exchange).createPet},
		{petstore.OpGetPet, http.MethodGet, "/pets/{petId}", http.StatusOK, (*exchange).getPet},
	}
}

// version is the path of the base address (section 9).
const version = "/v1"

// checkOperation returns an error if no operation has this name. The empty name stands for all.
func checkOperation(operation string) error {
	names := []string{""}
	for _, o := range Operations() {
		names = append(names, o.Name)
	}
	return oneOf("operation", operation, names)
}

// route is an operation in a mux. Its Handler comes from WithHandler; it is nil for the operations
// of the document.
type route struct {
	http.Handler
	Operation
	pattern string
}

// newMux returns a mux with the operations and handlers. It panics on patterns that conflict.
func newMux(handlers ...route) *http.ServeMux {
	defer func() {
		p := recover()
		panicUnless(p == nil, "WithHandler", "%v", p)
	}()
	mux := http.NewServeMux()
	for _, o := range Operations() {
		mux.Handle(o.Method+" "+version+o.Path, route{Operation: o})
	}
	for _, h := range handlers {
		mux.Handle(h.pattern, h)
	}
	return mux
}

// findOperation finds the operation of a request, the zero one for an unknown path. For a method
// that the path does not have, it returns one that says so.
func (s *Server) findOperation(r *http.Request) Operation {
	h, _ := s.mux.Handler(r)
	if found, ok := h.(route); ok {
		return found.Operation
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r) // 404, 405, or a redirect to a cleaner path, which is a 404 here
	methods := rec.Header().Get("Allow")
	if methods == "" {
		return Operation{}
	}
	return Operation{serve: func(x *exchange) response {
		resp := refusal(http.StatusMethodNotAllowed, "%s is not a method of this path; it has %s (section 4)",
			quote(r.Method), methods)
		resp.header.Set("Allow", methods)
		return resp
	}}
}

// listPets serves GET /pets (section 4.1).
func (x *exchange) listPets() response {
	limit, status, err := x.readQuery()
	if err != nil {
		return refusal(http.StatusBadRequest, "listPets: %v (section 4.1)", err)
	}
	return newResponse(http.StatusOK, x.srv.listPets(limit, status))
}

// readQuery reads the query, and checks the bounds of sections 4.1 and 8.4.
func (x *exchange) readQuery() (limit int, status petstore.PetStatus, err error) {
	values, err := url.ParseQuery(x.req.URL.RawQuery)
	switch {
	case err != nil:
		return 0, "", errors.New("the query is malformed")
	case len(values["limit"]) > 1 || len(values["status"]) > 1:
		return 0, "", errors.New("limit or status is given twice")
	}
	limit = 20
	if value := values.Get("limit"); values.Has("limit") {
		limit, err = strconv.Atoi(value)
		if err != nil || limit < 1 || limit > 100 {
			limit, err = 20, fmt.Errorf("limit is %s; it must be an integer from 1 to 100", quote(value))
		}
	}
	if values.Has("status") {
		status = petstore.PetStatus(values.Get("status"))
		if wrong := checkStatus(status); wrong != nil {
			status, err = "", cmp.Or(err, wrong)
		}
	}
	if x.srv.config.behavior.IgnoreInvalid {
		err = nil
	}
	return limit, status, err
}

// createPet serves POST /pets (section 4.2).
func (x *exchange) createPet() response {
	p, err := parseNewPet(x.req.Header.Get("Content-Type"), x.body)
	if err != nil {
		return refusal(http.StatusBadRequest, "createPet: %v (section 4.2)", err)
	}
	return newResponse(http.StatusCreated, wirePet(x.srv.AddPet(p)))
}

// removal returns the announced date of the removal of getPet (sections 4.3 and 9).
func removal() time.Time { return time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC) }

// getPet serves GET /pets/{petId} (section 4.3), which is deprecated.
func (x *exchange) getPet() (resp response) {
	b := x.srv.config.behavior
	text := strings.TrimPrefix(x.req.URL.Path, version+"/pets/")
	id, err := strconv.ParseInt(text, 10, 64)
	pet, found := x.srv.Pet(id)
	switch {
	case b.Removal && !x.srv.Now().Before(removal()):
		resp = refusal(http.StatusNotFound, "getPet was removed on 5 December 2030; use listPets (section 9)")
	case err != nil:
		resp = refusal(http.StatusNotFound, "getPet: petId is %s, which is not an int64 in decimal digits,"+
			" so there is no such pet (section 4.3)", quote(text))
	case !found:
		resp = refusal(http.StatusNotFound, "getPet: there is no pet %d (section 4.3)", id)
	default:
		resp = newResponse(http.StatusOK, wirePet(pet))
	}
	if b.DeprecationHeaders {
		resp.header.Set("Deprecation", "@915148800") // in 1999, which is past also in a bubble: bubbles begin in 2000
		resp.header.Set("Sunset", removal().Format(http.TimeFormat))
		resp.header.Set("Link", `</v1/pets>; rel="successor-version"`)
	}
	return resp
}

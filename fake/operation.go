package fake

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	petstore "github.com/petstore/petstore-go"
)

// Operation is an operation of the service document (section 4).
type Operation struct {
	Name    string // such as [petstore.OpGetPet]
	Method  string
	Path    string // below the base address, with parameters in braces: /pets/{petId}
	Status  int    // of a success
	Summary string // what it does, in a few words

	serve func(*exchange) response
}

// operations has a row for each operation of the document.
var operations = []Operation{
	{petstore.OpListPets, http.MethodGet, "/pets", http.StatusOK, "list pets (limit, status)", (*exchange).listPets},
	{petstore.OpCreatePet, http.MethodPost, "/pets", http.StatusCreated, "add a pet", (*exchange).createPet},
	{
		petstore.OpGetPet, http.MethodGet, "/pets/{petId}", http.StatusOK,
		"one pet; deprecated, removed on 5 December 2030", (*exchange).getPet,
	},
}

// Operations returns the operations of the document.
func Operations() []Operation { return slices.Clone(operations) }

// version is the path of the base address (section 9).
const version = "/v1"

// operationPaths returns each path of the service once.
func operationPaths() (paths []string) {
	for _, o := range operations {
		paths = append(paths, version+o.Path)
	}
	return slices.Compact(slices.Sorted(slices.Values(paths)))
}

// checkOperation returns an error if there is no such operation; empty stands for any.
func checkOperation(operation string) error {
	var names []string
	for _, o := range operations {
		names = append(names, o.Name)
	}
	if operation == "" || slices.Contains(names, operation) {
		return nil
	}
	return noSuch("operation", operation, names)
}

// route is what a method and a path mean (section 4).
type route struct {
	operation string                   // empty if they fit none
	serve     func(*exchange) response // nil without such a path
	parameter string                   // of the path
	allow     string                   // the methods of a path, if the method is none of them
}

// findRoute reads a path, segment by segment: an escaped slash separates nothing.
func (s *Server) findRoute(method string, r *http.Request) route {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	var allow []string
	for _, o := range operations {
		parameter, fits := o.match(segments)
		switch {
		case !fits:
		case o.Method == method:
			return route{operation: o.Name, serve: o.serve, parameter: parameter}
		default:
			allow = append(allow, o.Method)
		}
	}
	switch {
	case len(s.config.handlers) > 0 && s.handled(r):
		return route{serve: (*exchange).serveHandler}
	case allow != nil:
		return route{serve: (*exchange).refuseMethod, allow: strings.Join(allow, ", ")}
	}
	return route{}
}

// match reports whether the segments of an escaped path fit the path of the operation, and returns
// the parameter among them.
func (o *Operation) match(segments []string) (parameter string, fits bool) {
	for want := range strings.SplitSeq(version+o.Path, "/") {
		if len(segments) == 0 {
			return "", false
		}
		got, _ := url.PathUnescape(segments[0]) // no error: net/url has refused paths with invalid escapes
		switch {
		case !strings.HasPrefix(want, "{"):
			fits = got == want
		default:
			parameter, fits = got, got != ""
		}
		if !fits {
			return "", false
		}
		segments = segments[1:]
	}
	return parameter, len(segments) == 0
}

// refuseMethod serves the requests to a path of the service that fit no operation.
func (x *exchange) refuseMethod() response {
	a := refusal(http.StatusMethodNotAllowed, "%s is not a method of this path; it has %s (section 4)",
		quote(x.method), x.route.allow)
	a.header.Set("Allow", x.route.allow)
	return a
}

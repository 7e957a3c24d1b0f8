package fake

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	petstore "github.com/petstore/petstore-go"
)

type operation struct {
	name    string // as in petstore.Call
	method  string
	ofOne   bool // its path ends in the id of a pet
	respond func(*Server, *exchange) response
}

// operations returns the operations of the service. This is the list from which routes, the Allow
// header, faults and petstore-fake have them.
func operations() []operation {
	return []operation{
		{petstore.OpListPets, http.MethodGet, false, (*Server).listPets},
		{petstore.OpCreatePet, http.MethodPost, false, (*Server).createPet},
		{petstore.OpGetPet, http.MethodGet, true, (*Server).getPet},
	}
}

// path returns the pattern of the operation's path.
func (o operation) path() string {
	if o.ofOne {
		return "/v1/pets/{petId}"
	}
	return "/v1/pets"
}

func operationNames() (names []string) {
	for _, o := range operations() {
		names = append(names, o.name)
	}
	return names
}

// checkOperation returns an error if there is no such operation; empty stands for any.
func checkOperation(operation string) error {
	if names := operationNames(); operation != "" && !slices.Contains(names, operation) {
		return noSuch("operation", operation, names)
	}
	return nil
}

// route is what a method and a path mean (section 4).
type route struct {
	operation string                            // empty if they fit none
	respond   func(*Server, *exchange) response // nil without such a path
	petID     string
	allow     string // the methods of a path, if the method is none of them
}

// newExchange reads the parts of a request that come before its body.
func (s *Server) newExchange(r *http.Request) *exchange {
	x := &exchange{srv: s, req: r, arrived: s.Now()}
	x.method = cmp.Or(r.Method, http.MethodGet) // as net/http has it for clients
	x.route = s.findRoute(x.method, r)
	x.authenticate()
	return x
}

// findRoute reads a path, segment by segment: an escaped slash separates nothing.
func (s *Server) findRoute(method string, r *http.Request) route {
	path, rooted := strings.CutPrefix(r.URL.EscapedPath(), "/")
	version, path, _ := strings.Cut(path, "/")
	pets, id, one := strings.Cut(path, "/")
	empty := one && (id == "" || strings.Contains(id, "/"))
	found := rooted && !empty && unescape(version) == "v1" && unescape(pets) == "pets"
	var allow []string
	for _, o := range operations() {
		switch {
		case !found || o.ofOne != one:
		case o.method == method:
			return route{operation: o.name, respond: o.respond, petID: unescape(id)}
		default:
			allow = append(allow, o.method)
		}
	}
	switch {
	case len(s.config.handlers) > 0 && s.handled(r):
		return route{respond: (*Server).serveHandler}
	case found:
		return route{respond: (*Server).refuseMethod, allow: strings.Join(allow, ", ")}
	}
	return route{}
}

// refuseMethod serves the requests to a path of the service that fit no operation.
func (s *Server) refuseMethod(x *exchange) response {
	a := refusal(http.StatusMethodNotAllowed, "%s is not a method of this path; it has %s (section 4)",
		quote(x.method), x.route.allow)
	a.set("Allow", x.route.allow)
	return a
}

// unescape returns a segment of a path without the escapes of a URL.
func unescape(segment string) string {
	s, _ := url.PathUnescape(segment) // net/url lets no path pass with an escape that is none
	return s
}

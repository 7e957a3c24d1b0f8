package fake

import (
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

// findRoute reads a path, segment by segment: an escaped slash separates nothing.
func findRoute(method string, u *url.URL) route {
	path, rooted := strings.CutPrefix(u.EscapedPath(), "/")
	version, path, _ := strings.Cut(path, "/")
	pets, id, one := strings.Cut(path, "/")
	empty := one && (id == "" || strings.Contains(id, "/"))
	if !rooted || empty || unescape(version) != "v1" || unescape(pets) != "pets" {
		return route{}
	}
	for _, o := range operations() {
		if o.ofOne == one && o.method == method {
			return route{operation: o.name, respond: o.respond, petID: unescape(id)}
		}
	}
	return route{respond: (*Server).refuseMethod, allow: methods(one)}
}

// methods returns the methods of a path for the Allow header.
func methods(ofOne bool) string {
	var all []string
	for _, o := range operations() {
		if o.ofOne == ofOne {
			all = append(all, o.method)
		}
	}
	return strings.Join(all, ", ")
}

// unescape returns a segment of a path without the escapes of a URL.
func unescape(segment string) string {
	s, _ := url.PathUnescape(segment) // net/url lets no path pass with an escape that is none
	return s
}

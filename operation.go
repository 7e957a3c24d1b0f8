package petstore

import (
	"net/http"
	"strings"
)

// operation is an operation of the service (section 4), or a request of Do.
type operation struct {
	index      int    // in shared.templates; 0 for Do
	name       string // operationId of the document
	method     string
	template   string // path template below /pets, or the base URL for Do
	success    int    // documented status; 0 for any 2xx
	repeatable bool   // a repetition has no further effect
	drops      bool   // the body of a success is not decoded
}

func (o *operation) succeeds(code int) bool {
	return code == o.success || o.success == 0 && code/100 == 2
}

// The operations of the service (section 4), as the Operation fields of errors and of [Call] name
// them.
const (
	OpListPets  = "listPets"
	OpCreatePet = "createPet"
	OpGetPet    = "getPet"
)

// opDo begins the names of the operations of Do: "do GET".
const opDo = "do "

var (
	listPets  = &operation{1, OpListPets, http.MethodGet, "", http.StatusOK, true, false}
	createPet = &operation{2, OpCreatePet, http.MethodPost, "", http.StatusCreated, false, false}
	getPet    = &operation{3, OpGetPet, http.MethodGet, "/{petId}", http.StatusOK, true, false}

	operations = [...]*operation{listPets, createPet, getPet} // in the order of their index
)

// writes reports whether a request of the operation must not be sent twice.
func writes(operation string) bool {
	for _, op := range operations {
		if op.name == operation {
			return !op.repeatable
		}
	}
	return strings.HasPrefix(operation, opDo) && operation != opDo+http.MethodGet
}

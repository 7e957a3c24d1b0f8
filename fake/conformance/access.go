package conformance

import (
	"net/http"

	petstore "github.com/petstore/petstore-go"
)

// accessClauses are about the key that a request needs (section 5).
func accessClauses() []clause {
	list := []clause{
		{"5", "a valid key is accepted", keyAccepted},
		{"5", "another scheme than Bearer is 401", keyRefused(petstore.OpListPets, otherScheme)},
	}
	for _, name := range operations() {
		list = append(list,
			clause{"5", name + " without a key is 401", keyRefused(name, noKey)},
			clause{"5", name + " with an invalid key is 401", keyRefused(name, invalidKey)},
		)
	}
	return list
}

func keyAccepted(s *session) {
	x := s.list("")
	if x.status == http.StatusUnauthorized || x.status == http.StatusForbidden {
		x.failf("the key of the target must be accepted")
	}
}

func keyRefused(operation, auth string) func(*session) {
	return func(s *session) {
		s.operation(operation, auth).want(http.StatusUnauthorized)
	}
}

package conformance

import (
	"fmt"
	"net/http"
)

// getPetClauses are those of section 4.3, and those of section 9 about getPet.
func getPetClauses() []clause {
	return []clause{
		{"9", "getPet stays available until 5 December 2030", func(s *session) { s.fetch(statuses[0]).accepted() }},
		{"4.3", "success is 200", func(s *session) { s.fetch(statuses[0]).want(http.StatusOK) }},
		{"4.3", "the body is the pet that was asked for", getBody},
		{"4.3", "an unknown pet is 404", getUnknown},
	}
}

// getBody compares several pets to what createPet returned: with one pet, a service that always
// returns its first pet would pass.
func getBody(s *session) {
	for _, status := range added {
		created, x := s.mine(status), s.fetch(status)
		x.wantPet(x.pet(), created)
	}
}

// getUnknown asks for an id that hardly any pet has.
func getUnknown(s *session) {
	x := s.fetchUnknown()
	if pet, err := read[object]([]byte(x.response)); x.success() && err == nil && pet.id() == fmt.Sprint(unknownID) {
		skipf("there is a pet %d", unknownID)
	}
	x.want(http.StatusNotFound)
}

package conformance

import "net/http"

// getClauses are those of section 4.3, and those of section 9 about getPet.
func getClauses() []clause {
	return []clause{
		{"9", "getPet stays available until 5 December 2030", func(s *session) { s.fetch().accepted() }},
		{"4.3", "success is 200", getSuccess},
		{"4.3", "the body is the pet that was asked for", getBody},
		{"4.3", "an unknown pet is 404", getUnknown},
	}
}

func getSuccess(s *session) {
	x := s.fetch()
	if !x.success() {
		skipf("there is no success to look at")
	}
	x.want(http.StatusOK)
}

// getBody compares the pet to what createPet returned.
func getBody(s *session) {
	created, x := s.mine(statuses[0]), s.fetch()
	pet := x.pets()[0]
	for _, field := range []string{"id", "name", "categoryId", "status"} {
		x.wantField(pet, field, created[field])
	}
}

func getUnknown(s *session) {
	x := s.fetchUnknown()
	if x.success() {
		skipf("there is a pet %d", unknownID)
	}
	x.want(http.StatusNotFound)
}

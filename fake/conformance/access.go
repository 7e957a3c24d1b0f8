package conformance

import (
	"net/http"

	"github.com/petstore/petstore-go/fake"
)

// accessClauses are about the key that a request needs (section 5).
func accessClauses() []clause {
	list := []clause{
		{"5", "a valid key is accepted", keyAccepted},
		{"5", "another scheme than Bearer is 401", refusesKeys(otherScheme, "Token $key", "$key")},
		{
			"5", "a part of a key, or more than a key, is 401",
			refusesKeys("Bearer", "Bearer $half", "Bearer $keyx"),
		},
	}
	for _, o := range fake.Operations() {
		for name, auth := range map[string]string{"without a key": noKey, "with an invalid key": invalidKey} {
			list = append(list, clause{"5", o.Name + " " + name + " is 401", func(s *session) {
				s.ask(s.call(o).with(auth)).want(http.StatusUnauthorized)
			}})
		}
	}
	return list
}

func keyAccepted(s *session) {
	x := s.list("")
	if x.status == http.StatusUnauthorized || x.status == http.StatusForbidden {
		x.failf("the key of the target must be accepted")
	}
}

// refusesKeys returns the check that the service refuses each of these Authorization headers.
func refusesKeys(auths ...string) func(*session) {
	return func(s *session) {
		for _, auth := range auths {
			s.ask(get("/pets").with(auth)).want(http.StatusUnauthorized)
		}
	}
}

package conformance

import "net/http"

// accessClauses are about the key that a request needs (section 5).
func accessClauses() []clause {
	list := []clause{
		{"5", "a valid key is accepted", keyAccepted},
		{"5", "another scheme than Bearer is 401", refused(get("/pets").with(otherScheme))},
	}
	for _, o := range operations() {
		list = append(list,
			clause{"5", o.name + " without a key is 401", refused(o.request.with(noKey))},
			clause{"5", o.name + " with an invalid key is 401", refused(o.request.with(invalidKey))},
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

func refused(r request) func(*session) {
	return func(s *session) { s.ask(r).want(http.StatusUnauthorized) }
}

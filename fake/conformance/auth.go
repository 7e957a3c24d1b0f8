package conformance

import "net/http"

// authClauses are those of section 5.
func authClauses() []clause {
	list := []clause{
		{"5", "a valid key is accepted", keyAccepted},
		{"5", "another scheme than Bearer is 401", otherSchemeRefused},
	}
	for i, name := range []string{"listPets", "createPet", "getPet"} {
		list = append(list,
			clause{"5", name + " without a key is 401", keyRefused(i, noKey)},
			clause{"5", name + " with an invalid key is 401", keyRefused(i, invalidKey)},
		)
	}
	return list
}

func keyAccepted(s *session) error {
	x, err := s.list("")
	if err == nil && (x.status == http.StatusUnauthorized || x.status == http.StatusForbidden) {
		err = x.errorf("the key of the target must be accepted")
	}
	return err
}

func otherSchemeRefused(s *session) error {
	x, err := s.withoutKey(get("/pets"), otherScheme)
	if err != nil {
		return err
	}
	return x.want(http.StatusUnauthorized)
}

func keyRefused(operation int, auth credential) func(*session) error {
	return func(s *session) error {
		x, err := s.withoutKey(s.operations()[operation].request, auth)
		if err != nil {
			return err
		}
		return x.want(http.StatusUnauthorized)
	}
}

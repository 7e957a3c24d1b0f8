package conformance

import "net/http"

// getClauses are those of section 4.3, and what section 9 says of getPet.
func getClauses() []clause {
	return []clause{
		{"9", "getPet stays available until 5 December 2030", getStays},
		{"4.3", "success is 200", getSuccess},
		{"4.3", "the body is the animal that was asked for", getBody},
		{"4.3", "an unknown animal is 404", getUnknown},
	}
}

func getStays(s *session) error {
	_, x, err := s.fetch()
	if err == nil && !x.success() {
		err = x.errorf("the animal was added, and getPet must return it")
	}
	return err
}

func getSuccess(s *session) error {
	_, x, err := s.fetch()
	if err != nil {
		return err
	}
	if !x.success() {
		return skip("there is no success to look at")
	}
	return x.want(http.StatusOK)
}

// getBody compares the pet to what createPet returned.
func getBody(s *session) error {
	want, x, err := s.fetch()
	if err != nil {
		return err
	}
	got, err := x.animal()
	if err != nil {
		return err
	}
	for _, field := range []string{"id", "name", "categoryId", "status"} {
		if a, b := got.fields[field], want.fields[field]; (a != nil || b != nil) && !same(a, b) {
			return x.errorf("%s is %s; when the animal was added, it was %s", field, show(a), show(b))
		}
	}
	return nil
}

func getUnknown(s *session) error {
	x, err := s.fetchUnknown()
	if err != nil {
		return err
	}
	if x.success() {
		return skipf("there is an animal %d", unknownID)
	}
	return x.want(http.StatusNotFound)
}

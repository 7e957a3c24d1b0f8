package conformance

import "net/http"

// createClauses are those of section 4.2.
func createClauses() []clause {
	return []clause{
		{"4.2", "success is 201", createSuccess},
		{"4.2", "the body is the pet that was sent, with an id", createBody},
		{"4.2", "the request body is required", refuses("")},
		{"4.2", "a body that is not JSON is 400", refuses(`{"name":$name,"categoryId":$category`)},
		{"4.2", "a body that is no object is 400", refuses(`[]`)},
		{"4.2", "a body without the required fields is 400", refuses(`{}`)},
	}
}

func createSuccess(s *session) { s.add(statuses[0]).want(http.StatusCreated) }

// createBody compares what came back to what was sent, for each pet.
func createBody(s *session) {
	for _, status := range added {
		x := s.add(status)
		p := x.pet()
		sent, err := object([]byte(x.body))
		if err != nil {
			fail(err)
		}
		if _, ok := p.fields["id"]; !ok {
			x.failf("the pet has no id")
		}
		for field, want := range sent {
			if got := p.fields[field]; !same(got, want) {
				x.failf("%s was sent as %s and came back as %s", field, show(want), show(got))
			}
		}
	}
}

// same compares two values as strings, or else as integers.
func same(a, b []byte) bool {
	s, err1 := text(a)
	t, err2 := text(b)
	if err1 == nil && err2 == nil {
		return s == t
	}
	m, err1 := integer(a)
	n, err2 := integer(b)
	return err1 == nil && err2 == nil && m == n
}

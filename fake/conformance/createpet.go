package conformance

import "net/http"

// createClauses are those of section 4.2.
func createClauses() []clause {
	return []clause{
		{"4.2", "success is 201", createSuccess},
		{"4.2", "the body is the animal that was sent, with an id", createBody},
		{"4.2", "the request body is required", refuses("")},
		{"4.2", "a body that is not JSON is 400", refuses(`{"name":$name,"categoryId":$category`)},
		{"4.2", "a body that is no object is 400", refuses(`[]`)},
		{"4.2", "a body without the required fields is 400", refuses(`{}`)},
	}
}

func createSuccess(s *session) error {
	x, err := s.add(statuses[0])
	if err != nil {
		return err
	}
	return x.want(http.StatusCreated)
}

// createBody compares what came back to what was sent, for each pet.
func createBody(s *session) error {
	for _, status := range added {
		x, err := s.add(status)
		if err != nil {
			return err
		}
		a, err := x.animal()
		if err != nil {
			return err
		}
		sent, err := object([]byte(x.body))
		if err != nil {
			return err
		}
		if _, ok := a.fields["id"]; !ok {
			return x.errorf("the animal has no id")
		}
		for field, want := range sent {
			if !same(a.fields[field], want) {
				return x.errorf("%s was sent as %s and came back as %s", field, show(want), show(a.fields[field]))
			}
		}
	}
	return nil
}

// same compares two values as text or as what they look like.
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

package conformance

import "net/http"

// createClauses are those of section 4.2, and those of section 2 about NewPet.
func createClauses() []clause {
	list := []clause{
		{"2", "NewPet/name is required", refuses(`{"categoryId":$category}`)},
		{"2", "NewPet/name is a string", refuses(`{"name":7,"categoryId":$category}`)},
		{"2", "NewPet/categoryId is required", refuses(`{"name":$name}`)},
		{"2", "NewPet/categoryId is an integer", refuses(
			`{"name":$name,"categoryId":"$category"}`, `{"name":$name,"categoryId":1.5}`)},
		{"2", "NewPet/categoryId is an int64", refuses(`{"name":$name,"categoryId":9223372036854775808}`)},
		{"2", "NewPet/categoryId keeps all 64 bits", largeCategory},
		{"2", "NewPet/status is optional", func(s *session) { s.add("").accepted() }},
		{"2", "NewPet/status is a PetStatus", refuses(
			`{"name":$name,"categoryId":$category,"status":"lost"}`,
			`{"name":$name,"categoryId":$category,"status":7}`)},
		{"4.2", "success is 201", func(s *session) { s.add(statuses[0]).want(http.StatusCreated) }},
		{"4.2", "the body is the pet that was sent, with an id", createBody},
		{"4.2", "the request body is required", refuses("")},
		{"4.2", "a body that is not JSON is 400", refuses(`{"name":$name,"categoryId":$category`)},
		{"4.2", "a body that is no object is 400", refuses(`[]`)},
		{"4.2", "a body without the required fields is 400", refuses(`{}`)},
	}
	for _, status := range statuses {
		list = append(list, clause{"2", "NewPet/status may be " + status, func(s *session) { s.add(status).accepted() }})
	}
	return list
}

// refuses is the clause that createPet returns 400 to bodies with invalid values.
func refuses(bodies ...string) func(*session) {
	return func(s *session) {
		for _, body := range bodies {
			s.ask(create(body)).want(http.StatusBadRequest)
		}
	}
}

// largeCategory sends a category that a float64 cannot hold. A service that knows its categories
// may refuse it, since the document does not say which there are.
func largeCategory(s *session) {
	const large = "9223372036854775807"
	x := s.ask(create(`{"name":$name,"categoryId":` + large + `}`))
	if x.status == http.StatusBadRequest {
		skipf("there is no such category")
	}
	x.wantField(orSkip(x.pets)[0], "categoryId", []byte(large))
}

// createBody compares what came back to what was sent, for each pet.
func createBody(s *session) {
	for _, status := range added {
		x := s.add(status)
		pet := x.pets()[0]
		sent, _ := read[object]([]byte(x.body)) // which this package wrote
		if pet.id() == "" {
			x.failf("the pet has no id")
		}
		for field, value := range sent {
			x.wantField(pet, field, value)
		}
	}
}

package conformance

import "net/http"

// createPetClauses are those of section 4.2, and those of section 2 about NewPet.
func createPetClauses() []clause {
	list := []clause{
		{"2", "NewPet/name is required", refuses(`{"categoryId":$category}`)},
		{"2", "NewPet/name is a string", refusesField("name", `"categoryId":$category`,
			`7`, `null`, `true`, `["Rex"]`, `{"first":"Rex"}`)},
		{"2", "NewPet/name keeps all characters", keeps("name", `$unicode`)},
		{"2", "NewPet/categoryId is required", refuses(`{"name":$name}`)},
		{"2", "NewPet/categoryId is an integer", refusesField("categoryId", `"name":$name`,
			`"$category"`, `1.5`, `null`, `true`, `[1]`, `{}`)},
		{"2", "NewPet/categoryId is an int64", refusesField("categoryId", `"name":$name`,
			`9223372036854775808`, `-9223372036854775809`)},
		{"2", "NewPet/categoryId keeps all 64 bits", keeps("categoryId",
			`9223372036854775807`, `-9223372036854775808`, `0`)},
		{"2", "NewPet/status is optional", func(s *session) { s.add("").accepted() }},
		{"2", "NewPet/status is a PetStatus", refusesField("status", `"name":$name,"categoryId":$category`,
			`"lost"`, `""`, `"Sold"`, `7`, `null`, `true`, `["sold"]`)},
		{"4.2", "success is 201", func(s *session) { s.add(statuses[0]).want(http.StatusCreated) }},
		{"4.2", "the body is the pet that was sent, with an id", createBody},
		{"4.2", "the request body is required", refuses("")},
		{"4.2", "a body that is not JSON is 400", refuses(
			`{"name":$name,"categoryId":$category`, `name=Rex&categoryId=$category`)},
		{"4.2", "a body that is no object is 400", refuses(
			`[]`, `null`, `"Rex"`, `7`, `[{"name":$name,"categoryId":$category}]`)},
		{"4.2", "a body without the required fields is 400", refuses(`{}`)},
	}
	for _, status := range statuses {
		list = append(list, clause{"2", "NewPet/status may be " + status, func(s *session) { s.add(status).accepted() }})
	}
	return list
}

// refuses returns the check that createPet responds to each of these bodies with 400.
func refuses(bodies ...string) func(*session) {
	return func(s *session) {
		for _, body := range bodies {
			s.ask(create(body)).want(http.StatusBadRequest)
		}
	}
}

// refusesField returns the check that createPet responds with 400 to each of these values of a
// field; the other fields are valid.
func refusesField(field, others string, values ...string) func(*session) {
	var bodies []string
	for _, value := range values {
		bodies = append(bodies, `{`+others+`,"`+field+`":`+value+`}`)
	}
	return refuses(bodies...)
}

// keeps returns the check that a pet keeps the value of a field with which it was added. A service
// may refuse each of these values, since the document shows neither which categories exist nor how
// long a name may be.
func keeps(field string, values ...string) func(*session) {
	return func(s *session) {
		kept := false
		for _, value := range values {
			sent := map[string]string{"name": "$name", "categoryId": "$category", field: value}
			x := s.ask(create(`{"name":` + sent["name"] + `,"categoryId":` + sent["categoryId"] + `}`))
			if x.status != http.StatusBadRequest {
				kept = true
				x.wantField(orSkip(x.pet), field, x.sent()[field])
			}
		}
		if !kept {
			skipf("the service refuses these values")
		}
	}
}

// createBody compares what came back to what was sent, for each pet.
func createBody(s *session) {
	for _, status := range added {
		x := s.add(status)
		pet := x.pet()
		if pet.id() == "" {
			x.failf("the pet has no id")
		}
		for field, value := range x.sent() {
			x.wantField(pet, field, value)
		}
	}
}

// sent returns the pet in the body of a request, which this package wrote.
func (x *exchange) sent() object {
	pet, _ := read[object]([]byte(x.body))
	return pet
}

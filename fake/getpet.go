package fake

import (
	"net/http"
	"time"
)

// removal returns the announced date of the removal of getPet (sections 4.3 and 9).
func removal() time.Time { return time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC) }

// getPet serves GET /pets/{petId} (section 4.3), which is deprecated.
func (x *exchange) getPet() response {
	x.noteParameters(x.req.URL.Query())
	x.note(RuleDeprecated, "4.3", "getPet is removed on 5 December 2030; listPets takes its place")
	a := x.findPet()
	if x.srv.config.behavior.DeprecationHeaders {
		// The document does not say since when getPet is deprecated. This is 1 January 1999, in the
		// past by any clock: that of a bubble begins in 2000.
		a.header.Set("Deprecation", "@915148800")
		a.header.Set("Sunset", removal().Format(http.TimeFormat))
		a.header.Set("Link", `</v1/pets>; rel="successor-version"`)
	}
	return a
}

func (x *exchange) findPet() response {
	if x.srv.config.behavior.Removal && !x.srv.Now().Before(removal()) {
		return refusal(http.StatusNotFound, "getPet was removed on 5 December 2030; use listPets (section 9)")
	}
	id, err := parseInteger(x.route.parameter)
	if err != nil {
		return refusal(http.StatusNotFound,
			"getPet: petId is %s, which is not an int64 in decimal digits, so there is no"+
				" such animal (section 4.3)", quote(x.route.parameter))
	}
	pet, ok := x.srv.Pet(id)
	if !ok {
		return refusal(http.StatusNotFound, "getPet: there is no animal %d (section 4.3)", id)
	}
	return newResponse(http.StatusOK, appendPet(make([]byte, 0, petSize), pet))
}

package chaos

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// checkCreate compares the result of a create with the catalogue and the recorded requests.
func (r *report) checkCreate(c *call, has *catalogue) {
	stored := has.byName[c.pet.Name]
	switch c.outcome() {
	case "done":
		result := c.result.(*petstore.CreatePetResult)
		if len(stored) != 1 || result.Pet != stored[0] || !c.asWanted(result.Pet, r.scenario) {
			r.found("done", "%+v, the catalogue has %+v: %v", result.Pet, stored, c)
		}
	case "not done":
		if len(stored) != 0 {
			r.found("not done", "the catalogue has %+v: %v", stored, c)
		}
	}
	if allowed := c.allowed(); !slices.Contains(allowed, c.outcome()) {
		r.found("outcome", "it can be %v: %v", allowed, c)
	}
}

// asWanted reports whether pet is the one that the call asked for.
func (c *call) asWanted(pet petstore.Pet, w *scenario) bool {
	want := petstore.Pet{ID: pet.ID, Name: c.pet.Name, CategoryID: c.pet.CategoryID, Status: c.pet.Status}
	if want.Status == "" {
		want.Status = w.behavior.DefaultStatus
	}
	return pet.ID > 0 && pet == want
}

// allowed returns the outcomes that a create may have after the response to its last request.
func (c *call) allowed() []string {
	if len(c.requests) == 0 {
		return []string{"not done"}
	}
	q := c.requests[len(c.requests)-1]
	switch {
	case q.untouched():
		return []string{"not done"}
	case q.err != nil && c.patience+c.callTimeout > 0: // it may have ended before anything was written
		return []string{"not done", "unknown"}
	case q.status == http.StatusCreated && q.whole && q.kind.whole:
		return []string{"done"}
	case q.err != nil, q.status/100 == 2, q.status/100 == 3, q.inDoubt():
		return []string{"unknown"}
	}
	return []string{"not done"}
}

// checkResponses compares a create with the service's journal: it was sent again only after a 429,
// and a complete response reached its caller, unless the caller gave up early.
func (r *report) checkResponses(c *call, journal []fake.Request) {
	for i, q := range journal {
		if i < len(journal)-1 && q.StatusCode != http.StatusTooManyRequests {
			r.found("sent again", "the journal has %v and %v", q, journal[i+1])
		}
	}
	if len(journal) == 0 || c.patience+c.callTimeout > 0 || c.attemptTimeout < 10*time.Second {
		return
	}
	last := journal[len(journal)-1]
	var answered petstore.Pet
	if !c.requests[len(c.requests)-1].kind.whole || last.StatusCode != http.StatusCreated ||
		json.Unmarshal(last.ResponseBody, &answered) != nil {
		return
	}
	if result, ok := c.result.(*petstore.CreatePetResult); !ok || !reflect.DeepEqual(result.Pet, answered) {
		r.found("lost", "the response %v did not reach the caller: %v", last, c)
	}
}

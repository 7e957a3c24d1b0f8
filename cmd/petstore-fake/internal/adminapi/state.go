package adminapi

import (
	"slices"
	"strconv"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
)

// state returns what the page shows beside the requests, in parts that change together. The size of
// each is bounded.
func (a *API) state() map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return map[string]any{
		"clock":   a.ahead.String(),
		"latency": a.srv.Latency().String(),
		"keys":    a.stateKeys(),
		"faults":  a.stateFaults(),
		"pets":    a.statePets(),
		"traffic": a.page.Traffic(),
	}
}

// part is the beginning or the end of a list.
type part[T any] struct {
	Total int `json:"total"`
	List  []T `json:"list"`
}

func (a *API) stateKeys() part[shownKey] {
	all := a.srv.Keys()
	p := part[shownKey]{len(all), []shownKey{}}
	for _, k := range all[:min(len(all), requestpage.MaxListed)] {
		p.List = append(p.List, showKey(k))
	}
	return p
}

// stateFault is a fault in a few words.
type stateFault struct {
	ID     int    `json:"id"`
	Text   string `json:"text"`
	Fired  int    `json:"fired"`
	Active bool   `json:"active"`
}

// stateFaults shows the latest faults.
func (a *API) stateFaults() part[stateFault] {
	all := a.srv.Injections()
	p := part[stateFault]{len(all), []stateFault{}}
	for _, i := range all[max(len(all)-requestpage.MaxListed, 0):] {
		p.List = append(p.List, stateFault{
			i.ID(), requestpage.Shorten(describe(i.Fault())), i.Fired(), i.Active(),
		})
	}
	slices.Reverse(p.List)
	return p
}

// statePet is a pet with numbers as texts, since JavaScript has no 64-bit integers in JSON.
type statePet struct {
	ID         string             `json:"id"`
	Name       string             `json:"name"`
	CategoryID string             `json:"categoryId"`
	Status     petstore.PetStatus `json:"status"`
}

// statePets shows the pets that were added last.
func (a *API) statePets() part[statePet] {
	all := a.srv.Pets()
	p := part[statePet]{len(all), []statePet{}}
	for _, pet := range slices.Backward(all[max(len(all)-requestpage.MaxListed, 0):]) {
		p.List = append(p.List, statePet{
			strconv.FormatInt(pet.ID, 10), requestpage.Shorten(pet.Name),
			strconv.FormatInt(pet.CategoryID, 10), pet.Status,
		})
	}
	return p
}

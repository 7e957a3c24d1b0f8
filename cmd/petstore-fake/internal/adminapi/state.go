package adminapi

import (
	"slices"
	"strconv"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
)

// state returns what the page shows beside the requests, in parts that change together. The size of
// each is bounded.
func (a *API) state() map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return map[string]any{
		"clock":   requestpage.Plain(a.ahead),
		"latency": requestpage.Plain(a.srv.Latency()),
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

// stateKey is a key with its name on the page.
type stateKey struct {
	shownKey
	Name string `json:"name"`
}

func (a *API) stateKeys() part[stateKey] {
	all := a.srv.Keys()
	p := part[stateKey]{len(all), []stateKey{}}
	for _, k := range all[:min(len(all), requestpage.MaxListed)] {
		shown := showKey(k)
		p.List = append(p.List, stateKey{shown, requestpage.KeyText(shown.ID, shown.Key)})
	}
	return p
}

// stateFault is a fault in a few words.
type stateFault struct {
	ID     int        `json:"id"`
	Text   string     `json:"text"`
	Fired  int        `json:"fired"`
	Active bool       `json:"active"`
	Until  *time.Time `json:"until,omitempty"`
}

// stateFaults shows the latest faults.
func (a *API) stateFaults() part[stateFault] {
	all := a.srv.Injections()
	p := part[stateFault]{len(all), []stateFault{}}
	for _, i := range all[max(len(all)-requestpage.MaxListed, 0):] {
		f := stateFault{
			ID: i.ID(), Text: requestpage.Shorten(describeFault(i.Fault())),
			Fired: i.Fired(), Active: i.Active(),
		}
		if until := i.Until().UTC(); i.Fault().For > 0 {
			f.Until = &until
		}
		p.List = append(p.List, f)
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

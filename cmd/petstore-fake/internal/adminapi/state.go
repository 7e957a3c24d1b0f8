package adminapi

import (
	"slices"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
)

// state returns what the request page shows beside what it asks the fake for.
func (a *API) state() requestpage.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := requestpage.State{Ahead: a.ahead}
	all := a.srv.Injections()
	for _, i := range slices.Backward(all[max(len(all)-requestpage.MaxListed, 0):]) {
		f := requestpage.Fault{
			ID: i.ID, Text: requestpage.Shorten(describeFault(i.Fault)),
			Fired: i.Fired(), Active: i.Active, Until: i.Until,
		}
		s.Faults = append(s.Faults, f)
	}
	return s
}

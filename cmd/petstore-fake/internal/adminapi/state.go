package adminapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

func (a *API) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.page.Journal.Restart()
}

func (a *API) clock(*http.Request) (any, error) {
	return object{"now": a.srv.Now().UTC().Round(0)}, nil
}

func (a *API) advance(r *http.Request, d time.Duration) (any, error) {
	a.mu.Lock() // no other step may come between the check and this step
	defer a.mu.Unlock()
	if !spec.IsTime(a.srv.Now().Add(d)) {
		return nil, errors.New("the clock cannot go there; it goes from 1970 to 2291")
	}
	a.srv.Advance(d)
	return a.clock(r)
}

func (a *API) setClock(r *http.Request, t time.Time) (any, error) {
	a.srv.SetTime(t)
	return a.clock(r)
}

func (a *API) listPets(*http.Request) (any, error) {
	pets := a.srv.Pets()
	return object{"total": len(pets), "pets": pets}, nil
}

// addPets adds all pets, or none if one is refused.
func (a *API) addPets(_ *http.Request, pets []petstore.NewPet) (any, error) {
	return object{"pets": listed(pets, a.srv.AddPet)}, nil
}

func (a *API) listKeys(*http.Request) (any, error) {
	return object{"keys": listed(a.srv.Keys(), a.showKey)}, nil
}

// addKeys adds keys, on the business plan unless they say otherwise.
func (a *API) addKeys(_ *http.Request, keys []spec.Key) (any, error) {
	a.mu.Lock() // a reset in between would remove them
	defer a.mu.Unlock()
	return object{"keys": listed(keys, func(k spec.Key) requestpage.Key {
		a.srv.AddKey(k.Key, *cmp.Or(k.Plan, &fake.PlanBusiness))
		return a.showKey(k.Key)
	})}, nil
}

// showKey returns a key that the fake knows as the admin routes show it.
func (a *API) showKey(key string) requestpage.Key {
	return requestpage.NewKey(a.srv, slices.Index(a.srv.Keys(), key)+1, key)
}

func (a *API) keyOf(id string) (string, error) {
	number, _ := strconv.Atoi(id) // 0, for what is not a number, is not the number of a key
	if keys := a.srv.Keys(); number > 0 && number <= len(keys) {
		return keys[number-1], nil
	}
	return "", refuse(http.StatusNotFound, "there is no key with this id; GET /_fake/keys lists the ids")
}

// onKey returns a function that calls f with a value and the key whose id is in the path, and
// returns the key's new state.
func onKey[T any](a *API, f func(key string, value T)) func(*http.Request, T) (any, error) {
	return func(r *http.Request, value T) (any, error) {
		a.mu.Lock() // a reset in between would remove the key, and f would panic
		defer a.mu.Unlock()
		key, err := a.keyOf(r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		f(key, value)
		return a.showKey(key), nil
	}
}

// setUsage sets the usage of a key. A window that is not named stays as it is.
func (a *API) setUsage(key string, usage map[string]int) {
	is := a.srv.Usage(key)
	all := map[string]int{"minute": is.Minute, "day": is.Day}
	maps.Copy(all, usage)
	a.srv.SetUsage(key, all["minute"], all["day"])
}

func (a *API) showFault(i *fake.Injection) requestpage.Fault { return requestpage.NewFault(a.srv, i) }

func (a *API) listFaults(*http.Request) (any, error) {
	return object{"faults": listed(a.srv.Injections(), a.showFault)}, nil
}

// inject injects faults. The page does not know the keys, and names one by its id, such as #2. No
// key begins with #.
func (a *API) inject(_ *http.Request, faults []fake.Fault) (_ any, err error) {
	for i, f := range faults {
		if id, is := strings.CutPrefix(f.APIKey, "#"); is {
			if faults[i].APIKey, err = a.keyOf(id); err != nil {
				return nil, fmt.Errorf("key: %w", err)
			}
		}
	}
	return object{"faults": listed(faults, func(f fake.Fault) requestpage.Fault { return a.showFault(a.srv.Inject(f)) })}, nil
}

func (a *API) removeFaults() {
	for _, i := range a.srv.Injections() {
		i.Remove()
	}
}

// onFault returns an endpoint that calls f with the fault whose id is in the path.
func (a *API) onFault(f func(*fake.Injection) any) endpoint {
	return func(r *http.Request) (any, error) {
		for _, i := range a.srv.Injections() {
			if strconv.Itoa(i.ID()) == r.PathValue("id") {
				return f(i), nil
			}
		}
		return nil, refuse(http.StatusNotFound, "there is no fault with the id %q", spec.Clip(r.PathValue("id")))
	}
}

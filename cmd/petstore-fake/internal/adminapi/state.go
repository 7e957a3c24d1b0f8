package adminapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/requestpage"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

func (a *API) reset(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.page.Journal.Restart()
	return nil, nil
}

func (a *API) clock(*http.Request) (any, error) {
	return object{"now": a.srv.Now().UTC().Round(0), "advanced": a.page.Ahead().String()}, nil
}

func (a *API) advance(r *http.Request, d time.Duration) (any, error) {
	a.mu.Lock() // no other step may come between the check and this step
	defer a.mu.Unlock()
	if !spec.IsTime(a.srv.Now().Add(d)) {
		return nil, errors.New("advance: the clock cannot go there; it goes from 1970 to 2291")
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

// addPets handles POST /_fake/pets, which accepts what createPet accepts, or an array of it. It adds
// all pets, or none if one is refused.
func (a *API) addPets(r *http.Request) (any, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	pets, err := spec.ParsePets(body)
	if err != nil {
		return nil, err
	}
	return object{"pets": listed(pets, a.srv.AddPet)}, nil
}

func (a *API) listKeys(*http.Request) (any, error) {
	return object{"keys": listed(a.srv.Keys(), a.showKey)}, nil
}

func (a *API) addKey(r *http.Request) (any, error) {
	body, err := readFields[string](r, "key", "plan")
	if err != nil {
		return nil, err
	}
	key := body["key"]
	plan, err := spec.ParseText[fake.Plan](body["plan"])
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if err := spec.CheckKey(key); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	a.mu.Lock() // a reset in between would remove the key
	defer a.mu.Unlock()
	a.srv.AddKey(key, plan)
	return a.showKey(key), nil
}

// showKey returns a key that the fake knows as the admin routes show it.
func (a *API) showKey(key string) any {
	return requestpage.NewKey(a.srv, slices.Index(a.srv.Keys(), key)+1, key)
}

// keyOf returns the key with an id.
func (a *API) keyOf(id string) (string, error) {
	number, _ := strconv.Atoi(id) // 0 is none
	if keys := a.srv.Keys(); number > 0 && number <= len(keys) {
		return keys[number-1], nil
	}
	return "", errors.New("there is no key with this id; GET /_fake/keys lists the ids")
}

// onKey returns an endpoint that calls f with the key whose id is in the path, and shows its new
// state.
func (a *API) onKey(f func(key string)) endpoint {
	return func(r *http.Request) (any, error) {
		a.mu.Lock() // a reset in between would remove the key, and f would panic
		defer a.mu.Unlock()
		key, err := a.keyOf(r.PathValue("id"))
		if err != nil {
			return nil, refuse(http.StatusNotFound, "%v", err)
		}
		f(key)
		return a.showKey(key), nil
	}
}

func (a *API) setPlan(r *http.Request, plan fake.Plan) (any, error) {
	return a.onKey(func(key string) { a.srv.SetPlan(key, plan) })(r)
}

func (a *API) ban(r *http.Request, d time.Duration) (any, error) {
	if d == 0 {
		return nil, errors.New("duration: 0s is no ban; DELETE lifts one")
	}
	return a.onKey(func(key string) { a.srv.BanKey(key, d) })(r)
}

// setUsage handles PUT /_fake/keys/{id}/usage. A window that the body does not name stays as it is.
func (a *API) setUsage(r *http.Request) (any, error) {
	usage, err := readFields[uint32](r, "minute", "day")
	if err != nil || len(usage) == 0 {
		return nil, cmp.Or(err, errors.New("minute and day are missing; give one of them or both"))
	}
	return a.onKey(func(key string) {
		is := a.srv.Usage(key)
		to := map[string]int{"minute": is.Minute, "day": is.Day}
		for name, n := range usage {
			to[name] = int(n)
		}
		a.srv.SetUsage(key, to["minute"], to["day"])
	})(r)
}

func (a *API) showFault(i *fake.Injection) requestpage.Fault { return requestpage.NewFault(a.srv, i) }

func (a *API) listFaults(*http.Request) (any, error) {
	return object{"faults": listed(a.srv.Injections(), a.showFault)}, nil
}

// inject handles POST /_fake/faults, with faults as -fault takes them.
func (a *API) inject(r *http.Request) (any, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	faults, err := spec.ParseFaults(string(body))
	_, wrongQuery := spec.ReadQuery(r) // it would not limit the fault
	if err = cmp.Or(wrongQuery, err); err != nil {
		return nil, err
	}
	for i, f := range faults {
		// The page, which has no keys, names one by its id: #2. No key begins like that.
		if id, is := strings.CutPrefix(f.APIKey, "#"); is {
			if faults[i].APIKey, err = a.keyOf(id); err != nil {
				return nil, fmt.Errorf("key: %w", err)
			}
		}
	}
	return object{"faults": listed(faults, func(f fake.Fault) requestpage.Fault { return a.showFault(a.srv.Inject(f)) })}, nil
}

func (a *API) removeFaults(*http.Request) (any, error) {
	for _, i := range a.srv.Injections() {
		i.Remove()
	}
	return nil, nil
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

package admin

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/page"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/credential"
)

func (a *API) routes() []route {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return []route{
		{Method: get, Path: Path, About: "the request page for a browser, these routes for others", handle: a.front},
		{Method: get, Path: "/_fake/page", About: "what changes on the request page, as HTML", handle: a.page.Parts},
		{Method: get, Path: "/_fake/web/", About: "the files of the request page", handle: page.Files.ServeHTTP},
		jsonRoute(get, Health, "status 200 as soon as the program serves", a.health),
		jsonRoute(post, "/_fake/reset", "puts everything back to the start of the program", a.resetAll),
		jsonRoute(get, "/_fake/requests", "the newest requests: ?limit=100&text=status:4xx -key:none createPet",
			a.listRequests),
		jsonRoute(del, "/_fake/requests", "clears the list of requests", a.clear),
		jsonRoute(get, "/_fake/violations", "what a well-behaved client does not do", a.violations),
		jsonRoute(get, "/_fake/pets", "the catalogue", a.listPets),
		bodyRoute(post, "/_fake/pets", "adds a pet, or an array of them", ReadList[petstore.NewPet], a.addPets),
		jsonRoute(get, "/_fake/keys", "the keys, with their plans and usage", a.listKeys),
		bodyRoute(post, "/_fake/keys", "adds a key, or an array of them; a key alone will do", ReadKeys, a.addKeys),
		bodyRoute(patch, "/_fake/keys/{id}", "changes a key; plan is a name or its limits",
			Read[keyChange], a.changeKey),
		jsonRoute(get, "/_fake/faults", "the faults, with how often each has applied", a.listFaults),
		bodyRoute(post, "/_fake/faults", "injects a fault, or an array; times -1 is for ever",
			ReadList[fake.Fault], a.inject),
		jsonRoute(del, "/_fake/faults", "removes all faults", a.removeFaults),
		jsonRoute(del, "/_fake/faults/{id}", "removes a fault", a.removeFaults),
		jsonRoute(get, "/_fake/clock", "the service's time", a.clock),
		bodyRoute(post, "/_fake/clock", "moves it, back with a minus, or sets it", Read[clockChange], a.setClock),
	}
}

// convert returns a list of what show returns for each element. Even for an empty list it does not
// return nil, because JSON would have null.
func convert[T, S any](list []T, show func(i int, one T) S) []S {
	all := make([]S, len(list))
	for i, one := range list {
		all[i] = show(i, one)
	}
	return all
}

func (a *API) health(*http.Request) (any, error) {
	return object{"status": "ok", "version": petstore.Version}, nil
}

func (a *API) resetAll(r *http.Request) (any, error) {
	a.srv.Reset()
	a.startClock()
	return a.clear(r)
}

func (a *API) clear(*http.Request) (any, error) {
	a.page.Clear()
	return nil, nil
}

func (a *API) listRequests(r *http.Request) (any, error) {
	query := r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(query.Get("limit"), "100"))
	if err != nil || limit < 1 {
		return nil, errors.New("limit must be a number of at least 1")
	}
	filter := page.NewFilter(query.Get("text"))
	list := slices.DeleteFunc(a.page.Journal(), func(r *page.Request) bool { return !filter.Fits(r) })
	return object{"total": len(list), "requests": convert(list[max(len(list)-limit, 0):], showRequest)}, nil
}

func showRequest(_ int, r *page.Request) object {
	return object{
		"seq": r.Seq, "operation": r.Operation, "keyId": r.Key, "key": r.Sender, "method": r.Method, "path": r.Path,
		"header": r.Header, "body": string(r.Body), "status": r.StatusCode, "responseHeader": r.ResponseHeader,
		"response": string(r.ResponseBody), "fault": r.FaultEffect, "hint": r.Hint,
		"time": r.Time.UTC(), "durationMs": float64(r.Duration) / float64(time.Millisecond),
	}
}

func (a *API) violations(*http.Request) (any, error) {
	return object{"violations": convert(a.srv.Violations(), func(_ int, v fake.Violation) object {
		return object{"rule": v.Rule, "section": v.Section, "detail": v.Detail, "seq": v.Seq}
	})}, nil
}

func (a *API) listPets(*http.Request) (any, error) {
	pets := a.srv.Pets()
	return object{"total": len(pets), "pets": pets}, nil
}

func (a *API) addPets(_ *http.Request, pets []petstore.NewPet) (any, error) {
	return object{"pets": convert(pets, func(_ int, p petstore.NewPet) petstore.Pet { return a.srv.AddPet(p) })}, nil
}

// Key is an API key with its plan. The plan is nil if the user gave only the key.
type Key struct {
	Key  string     `json:"key"`
	Plan *fake.Plan `json:"plan"`
}

// ReadKeys reads one key without a plan, such as my-key, or what [ReadList] reads: keys with plans.
// It returns an error if a client could not send one of the keys.
func ReadKeys(text string) ([]Key, error) {
	if !strings.ContainsAny(strings.TrimRight(text, "="), "={[") { // base64 may end with =
		text = "key=" + text
	}
	keys, err := ReadList[Key](text)
	for _, k := range keys {
		if problem := credential.KeyProblem(k.Key); problem != "" && err == nil {
			err = errors.New("the key " + problem)
		}
	}
	return keys, err
}

func (a *API) showKey(i int, key string) object {
	return object{"id": i + 1, "key": key, "usage": a.srv.Usage(key)}
}

func (a *API) listKeys(*http.Request) (any, error) {
	return object{"keys": convert(a.srv.Keys(), a.showKey)}, nil
}

func (a *API) addKeys(r *http.Request, keys []Key) (any, error) {
	for _, k := range keys {
		a.srv.AddKey(k.Key, *cmp.Or(k.Plan, &a.config.Plan))
	}
	return a.listKeys(r)
}

// keyChange is a change of a key. A field that the user does not give changes nothing.
type keyChange struct {
	Plan    *fake.Plan     `json:"plan"`
	Minute  *int           `json:"minute"` // the number of requests counted in the current minute
	Day     *int           `json:"day"`
	Ban     *time.Duration `json:"ban"`
	Revoked *bool          `json:"revoked"`
}

func (a *API) changeKey(r *http.Request, c keyChange) (any, error) {
	id, _ := strconv.Atoi(r.PathValue("id")) // 0 if it is not a number; no key has the id 0
	keys := a.srv.Keys()
	if id < 1 || id > len(keys) {
		return nil, errors.New("there is no key with this id; GET /_fake/keys lists the ids")
	}
	key := keys[id-1]
	used := a.srv.Usage(key)
	minute, day := *cmp.Or(c.Minute, &used.Minute), *cmp.Or(c.Day, &used.Day)
	ban := *cmp.Or(c.Ban, new(time.Duration))
	if min(minute, day) < 0 || ban < 0 {
		return nil, errors.New("minute, day and ban must be at least 0")
	}
	if c.Revoked != nil && !*c.Revoked {
		return nil, errors.New("revoked can only be true; POST /_fake/keys makes a revoked key valid again")
	}
	if c.Plan != nil {
		a.srv.SetPlan(key, *c.Plan)
	}
	if c.Minute != nil || c.Day != nil {
		a.srv.SetUsage(key, minute, day)
	}
	if c.Ban != nil {
		a.srv.BanKey(key, ban)
	}
	if c.Revoked != nil {
		a.srv.RevokeKey(key)
	}
	return a.showKey(id-1, key), nil
}

func showFault(_ int, i *fake.Injection) object {
	return object{"id": i.ID(), "fault": i.Fault(), "applied": i.Applied(), "active": i.Active()}
}

func (a *API) listFaults(*http.Request) (any, error) {
	return object{"faults": convert(a.srv.Injections(), showFault)}, nil
}

func (a *API) inject(_ *http.Request, faults []fake.Fault) (any, error) {
	inject := func(n int, f fake.Fault) object { return showFault(n, a.srv.Inject(f)) }
	return object{"faults": convert(faults, inject)}, nil
}

// removeFaults removes all faults, or only the one whose id is in the path.
func (a *API) removeFaults(r *http.Request) (any, error) {
	id, found := r.PathValue("id"), false
	for _, i := range a.srv.Injections() {
		if id == "" || id == strconv.Itoa(i.ID()) {
			i.Remove()
			found = true
		}
	}
	if id != "" && !found {
		return nil, errors.New("there is no fault with this id; GET /_fake/faults lists the ids")
	}
	return nil, nil
}

func (a *API) clock(*http.Request) (any, error) {
	return object{"now": a.srv.Now().UTC().Round(0)}, nil
}

// startClock sets the clock to Config.Start, unless that is zero.
func (a *API) startClock() { _, _ = a.setClock(nil, clockChange{Now: a.config.Start}) }

// clockChange moves the clock by Advance. If Now is given, it sets the clock to Now instead.
type clockChange struct {
	Advance time.Duration `json:"advance"`
	Now     time.Time     `json:"now"`
}

func (a *API) setClock(r *http.Request, c clockChange) (any, error) {
	if !c.Now.IsZero() {
		c.Advance = c.Now.Sub(a.srv.Now())
	}
	a.srv.Advance(c.Advance)
	return a.clock(r)
}

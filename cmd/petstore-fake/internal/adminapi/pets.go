package adminapi

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// parseStatus reads a status that the service document names, or none.
func parseStatus(text string) (petstore.PetStatus, error) {
	s := petstore.PetStatus(text)
	if s != "" && !s.Valid() {
		return "", fmt.Errorf("there is no status %q; it must be one of %q, or empty for none",
			spec.Clip(text),
			[]petstore.PetStatus{petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold})
	}
	return s, nil
}

func (a *API) listPets(r *http.Request) (any, error) {
	q := httpjson.ReadQuery(r, "status", "after", "limit")
	status, err := parseStatus(q.Values.Get("status"))
	after := q.Number("after", 0, math.MaxInt64, 0)
	limit := int(q.Number("limit", 1, httpjson.MaxList, httpjson.DefaultList))
	if err := cmp.Or(q.Err, err); err != nil {
		return nil, err
	}
	total, shown := 0, []petstore.Pet{}
	for _, p := range a.srv.Pets() {
		if status != "" && p.Status != status {
			continue
		}
		total++
		if p.ID > after && len(shown) < limit {
			shown = append(shown, p)
		}
	}
	return struct {
		Total int            `json:"total"`
		Pets  []petstore.Pet `json:"pets"`
	}{total, shown}, nil
}

// addPet handles POST /_fake/pets, which accepts what createPet accepts, or an array of it. It adds
// all pets of an array, or none if one is refused.
func (a *API) addPet(r *http.Request) (any, error) {
	body, err := httpjson.ReadBody(r)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		p, err := fakecontrol.ParseNewPet(body)
		if err != nil {
			return nil, err
		}
		return httpjson.Created{Value: a.srv.AddPet(p)}, nil
	}
	list, err := spec.ParsePets(body)
	if err != nil {
		return nil, err
	}
	added := []petstore.Pet{}
	for _, p := range list {
		added = append(added, a.srv.AddPet(p))
	}
	return httpjson.Created{Value: map[string]any{"pets": added}}, nil
}

func (a *API) getPet(r *http.Request) (any, error) {
	n, _ := httpjson.ID(r)
	p, ok := a.srv.Pet(n)
	if !ok {
		return nil, noSuchPet(r)
	}
	return p, nil
}

func (a *API) setStatus(r *http.Request) (any, error) {
	status, err := httpjson.ReadField(r, "status", parseStatus)
	if err != nil {
		return nil, err
	}
	n, _ := httpjson.ID(r)
	if !a.srv.SetStatus(n, status) {
		return nil, noSuchPet(r)
	}
	return a.getPet(r)
}

func (a *API) deletePet(r *http.Request) (any, error) {
	n, _ := httpjson.ID(r)
	if !a.srv.DeletePet(n) {
		return nil, noSuchPet(r)
	}
	return nil, nil
}

func noSuchPet(r *http.Request) error {
	return httpjson.NotFound("there is no pet with the id %q", spec.Clip(r.PathValue("id")))
}

package adminapi

import (
	"bytes"
	"math"
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func (a *API) listPets(r *http.Request) (any, error) {
	q := httpjson.ReadQuery(r, "status", "after", "limit")
	status := petstore.PetStatus(q.Values.Get("status"))
	if status != "" && !status.Valid() {
		q.Fail("there is no status %q", spec.Clip(string(status)))
	}
	after := q.Number("after", 0, math.MaxInt64, 0)
	limit := int(q.Number("limit", 1, httpjson.MaxList, httpjson.DefaultList))
	if q.Err != nil {
		return nil, q.Err
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

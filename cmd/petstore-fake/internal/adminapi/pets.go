package adminapi

import (
	"bytes"
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func (a *API) listPets(*http.Request) (any, error) {
	pets := a.srv.Pets()
	return map[string]any{"total": len(pets), "pets": pets}, nil
}

// addPet handles POST /_fake/pets, which accepts what createPet accepts, or an array of it. It adds
// all pets of an array, or none if one is refused.
func (a *API) addPet(r *http.Request) (any, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		p, err := fakecontrol.ParseNewPet(body)
		if err != nil {
			return nil, err
		}
		return a.srv.AddPet(p), nil
	}
	list, err := spec.ParsePets(body)
	if err != nil {
		return nil, err
	}
	added := []petstore.Pet{}
	for _, p := range list {
		added = append(added, a.srv.AddPet(p))
	}
	return map[string]any{"pets": added}, nil
}

package fake

import (
	"errors"
	"fmt"
	"mime"
	"net/http"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/service"
)

// createPet serves POST /pets (section 4.2).
func (x *exchange) createPet() response {
	x.noteParameters(x.req.URL.Query())
	p, err := x.readNewPet()
	if err != nil {
		return refusal(http.StatusBadRequest, "createPet: %v (section 4.2)", err)
	}
	pet := x.srv.AddPet(petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: petstore.PetStatus(p.Status)})
	return newResponse(http.StatusCreated, appendPet(make([]byte, 0, petSize), pet))
}

func (x *exchange) readNewPet() (service.NewPet, error) {
	if err := checkMediaType(x.req.Header); err != nil {
		return service.NewPet{}, err
	}
	switch {
	case x.bodyErr != nil:
		return service.NewPet{}, x.bodyErr
	case len(x.body) == 0:
		return service.NewPet{}, errors.New("the request body is missing; it must be a NewPet object")
	}
	pet, unknown, err := service.ReadNewPet("the request body", x.body)
	for _, name := range unknown {
		x.note(RuleUnknownName, "2", service.NoSuchField(name))
	}
	if err == nil && pet.CategoryID == 0 && x.srv.config.strict {
		x.note(RuleZeroCategory, "2",
			"categoryId is 0, a legal value, or a field that was missing in what the program decoded")
	}
	return pet, err
}

// checkMediaType refuses a body if the headers do not say that it is JSON, or say that it is
// compressed.
func checkMediaType(h http.Header) error {
	ct := h.Get("Content-Type")
	media, _, err := mime.ParseMediaType(ct)
	switch {
	case ct == "":
		return errors.New("the Content-Type header is missing; it must be application/json")
	case err != nil || media != mediaJSON:
		return fmt.Errorf("the Content-Type is %s; it must be application/json", quote(ct))
	}
	if enc := h.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return fmt.Errorf("the Content-Encoding is %s; the server takes none", quote(enc))
	}
	return nil
}

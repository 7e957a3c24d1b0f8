package petstore_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestDecode(t *testing.T) {
	t.Run("a pet against the document is a ResponseError", func(t *testing.T) {
		for body, reason := range map[string]string{
			``:                                      "body is empty",
			`null`:                                  "instead of {",
			`{}`:                                    "id is missing",
			`{"name":"a","categoryId":1}`:           "id is missing",
			`{"id":1,"categoryId":1}`:               "name is missing",
			`{"id":1,"name":"a"}`:                   "categoryId is missing",
			`{"ID":1,"name":"a","categoryId":1}`:    "id is missing",
			`{"id":1,"name":"a","categoryID":1}`:    "categoryId is missing",
			`{"id":null,"name":"a","categoryId":1}`: "not an int64",
			`{"id":1,"name":null,"categoryId":1}`:   "not a string",
			`{"id":1,"name":"a","categoryId":"1"}`:  "not an int64",
			`{"id":1,"name":"a","categoryId":1,"status":3}`: "not a string",
			`{"id":1,"name":"a","categoryId":1}x`:           "after top-level value",
		} {
			t.Run(body, func(t *testing.T) {
				client, service := scripted(t, []responder{status(201, body)})
				_, err := client.CreatePet(t.Context(), newPet())
				e := as[*petstore.ResponseError](t, err)
				require.ErrorContains(t, err, reason)
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
				assert.Equal(t, body, string(e.Body))
				assert.Equal(t, 201, e.StatusCode)
				assert.Len(t, service.sent(), 1)

				client, _ = scripted(t, []responder{status(200, `[`+onePet+`,`+body+`]`)})
				_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
				require.ErrorIs(t, err, petstore.ErrInvalidResponse)
			})
		}
	})
	t.Run("the media type of a success must be JSON, and that of an error need not", func(t *testing.T) {
		client, _ := scripted(t, []responder{
			status(200, `[]`, "Content-Type: ", "Content-Type: text/html"), status(200, `[]`, "Content-Encoding: br"),
			status(404, `{"code":"c","message":"m"}`, "Content-Type: ", "Content-Type: text/html"),
		})
		require.ErrorIs(t, list(client), petstore.ErrInvalidResponse)
		require.ErrorIs(t, list(client), petstore.ErrInvalidResponse)
		e := as[*petstore.APIError](t, list(client))
		assert.Equal(t, []string{"c", "m", `{"code":"c","message":"m"}`}, []string{e.Code, e.Message, string(e.Body)})
	})
}

// wirePet is a Pet of section 2 for json/v2. Its pointers show whether a required field is present.
type wirePet struct {
	ID         *int64  `json:"id"`
	Name       *string `json:"name"`
	CategoryID *int64  `json:"categoryId"`
	Status     *string `json:"status"`
}

func (p *wirePet) whole() bool {
	return p != nil && p.ID != nil && p.Name != nil && p.CategoryID != nil
}

func (p *wirePet) pet() petstore.Pet {
	pet := petstore.Pet{ID: *p.ID, Name: *p.Name, CategoryID: *p.CategoryID}
	if p.Status != nil {
		pet.Status = petstore.PetStatus(*p.Status)
	}
	return pet
}

// FuzzDecoding compares the results of a list and of a create with json/v2: they have the same
// values, and the calls refuse the same bodies and those in which a required field is missing.
func FuzzDecoding(f *testing.F) {
	for _, text := range []string{
		``, ` `, `null`, `[]`, `{}`, `[null]`, `[[]]`, `[1]`, `"x"`, `[{}]`, `[][]`, `[]x`, `<html>`,
		`{"id":7,"name":"Rex","categoryId":3,"status":"available"}`,
		`[{"id":7,"name":"Rex","categoryId":3,"status":"available"},{"id":8,"name":"Ada","categoryId":0}]`,
		`{"id":1,"name":"a","categoryId":2,"status":null}`, `{"id":1,"name":"a","categoryId":2,"status":"adopted"}`,
		`{"tags":[{"deep":[1,2,{}]}],"categoryId":2,"name":"a","id":1,"born":null}`,
		`{"\u0069\u0064":1,"n\u0061me":"\u0061","categoryId":2,"status":"s\u006fld"}`,
		" \n{\"id\" : 1, \"name\":\"\\u0061\", \"categoryId\":2}\r\n\t ",
		`{"ID":1,"name":"a","categoryId":1}`, `{"id":1,"id":2,"name":"a","categoryId":1}`,
		`{"id":1.0,"name":"a","categoryId":1e3}`, `{"id":-0,"name":"","categoryId":-9223372036854775808}`,
		`{"id":9223372036854775808,"name":"a","categoryId":1}`, `{"id":"1","name":2,"categoryId":null}`,
		"{\"id\":1,\"name\":\"\xff\",\"categoryId\":1}", `{"id":1,"name":"\ud83d","categoryId":1}`,
		`{"id":1,"name":"\ud83d\udc36","categoryId":1,}`, `{"id":1,"name":"a"`, `[{"id":1,"name":"a","categoryId":1},`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		body := text
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			code := http.StatusOK
			if r.Method == http.MethodPost {
				code = http.StatusCreated
			}
			return response(r, code, bytes.NewReader(body)), nil
		}})
		listed, errList := client.ListPets(t.Context(), petstore.ListPetsParams{})
		created, errCreate := client.CreatePet(t.Context(), newPet())
		body = bytes.Repeat([]byte(" "), len(text)+1) // overwrites the buffer, while the caller still has the results
		require.Error(t, list(client))
		checkList(t, text, listed, errList)
		checkPet(t, text, created, errCreate)
	})
}

func checkList(t *testing.T, body []byte, got *petstore.ListPetsResult, err error) {
	t.Helper()
	var list *[]*wirePet
	theirs := jsonv2.Unmarshal(body, &list)
	whole := theirs == nil && list != nil && !slices.ContainsFunc(*list, func(p *wirePet) bool { return !p.whole() })
	require.Equal(t, whole, err == nil, "ours: %v; json/v2: %v", err, theirs)
	if err != nil {
		return
	}
	require.NotNil(t, got.Pets)
	require.Len(t, got.Pets, len(*list))
	for i, p := range *list {
		assert.Equal(t, p.pet(), got.Pets[i])
	}
	assert.True(t, json.Valid(body))
}

func checkPet(t *testing.T, body []byte, got *petstore.CreatePetResult, err error) {
	t.Helper()
	var p *wirePet
	theirs := jsonv2.Unmarshal(body, &p)
	require.Equal(t, theirs == nil && p.whole(), err == nil, "ours: %v; json/v2: %v", err, theirs)
	if err == nil {
		assert.Equal(t, p.pet(), got.Pet)
		assert.True(t, json.Valid(body))
	}
}

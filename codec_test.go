package petstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestDecode(t *testing.T) {
	t.Run("a pet against the document is a ResponseError", func(t *testing.T) {
		for body, reason := range map[string]string{
			``:                                      "",
			` `:                                     "",
			`null`:                                  "instead of {",
			`[]`:                                    "instead of {",
			`"x"`:                                   "instead of {",
			`{`:                                     "",
			`{"id":1,"name":"a"`:                    "",
			`{}`:                                    "id is missing",
			`{"name":"a","categoryId":1}`:           "id is missing",
			`{"id":1,"categoryId":1}`:               "name is missing",
			`{"id":1,"name":"a"}`:                   "categoryId is missing",
			`{"ID":1,"name":"a","categoryId":1}`:    "id is missing",
			`{"id":1,"name":"a","categoryID":1}`:    "categoryId is missing",
			`{"id":null,"name":"a","categoryId":1}`: "not an int64",
			`{"id":1,"name":null,"categoryId":1}`:   "not a string",
			`{"id":"1","name":"a","categoryId":1}`:  "not an int64",
			`{"id":1.5,"name":"a","categoryId":1}`:  "not an int64",
			`{"id":9223372036854775808,"name":"a","categoryId":1}`:                "not an int64",
			`{"id":true,"name":"a","categoryId":1}`:                               "not an int64",
			`{"id":1,"name":2,"categoryId":1}`:                                    "not a string",
			`{"id":1,"name":["a"],"categoryId":1}`:                                "not a string",
			`{"id":1,"name":"a","categoryId":1,"status":3}`:                       "not a string",
			`{"id":1,"id":2,"name":"a","categoryId":1}`:                           "duplicate object member name",
			`{"id":1,"name":"a","categoryId":1} {}`:                               "after top-level value",
			`{"id":1,"name":"a","categoryId":1},`:                                 "after top-level value",
			`{"id":1,"name":"a","categoryId":1}x`:                                 "after top-level value",
			"{\"id\":1,\"name\":\"\xff\",\"categoryId\":1}":                       "invalid UTF-8",
			`{"id":1,"name":"a","categoryId":1,}`:                                 "",
			`{'id':1}`:                                                            "",
			`<html>`:                                                              "",
			`{"id":1,"name":"a","categoryId":1,"x":` + strings.Repeat("[", 20000): "",
		} {
			t.Run(body, func(t *testing.T) {
				client, service := scripted(t, []responder{status(201, body)})
				_, err := client.CreatePet(t.Context(), newPet())
				e, ok := errors.AsType[*petstore.ResponseError](err)
				require.True(t, ok, "%s: %T %v", body, err, err)
				assert.ErrorContains(t, err, reason, body)
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
				assert.Equal(t, body[:min(len(body), 4096)], string(e.Body))
				assert.Equal(t, 201, e.StatusCode)
				assert.Len(t, service.sent(), 1)

				client, _ = scripted(t, []responder{status(200, `[`+onePet+`,`+body+`]`)})
				_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
				require.ErrorIs(t, err, petstore.ErrInvalidResponse, body)
			})
		}
	})
	t.Run("a body that is no list is a ResponseError", func(t *testing.T) {
		for _, body := range []string{``, `null`, `{}`, `{"pets":[]}`, `[`, `[1]`, `[null]`, `[]]`, `[][]`, onePet} {
			t.Run(body, func(t *testing.T) {
				client, service := scripted(t, []responder{status(200, body)})
				result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				require.ErrorIs(t, err, petstore.ErrInvalidResponse, body)
				assert.Nil(t, result)
				assert.Len(t, service.sent(), 1)
			})
		}
	})
	t.Run("unknown fields and statuses are accepted", func(t *testing.T) {
		for _, body := range []string{
			`{"id":1,"name":"a","categoryId":2,"status":"adopted"}`,
			`{"id":1,"name":"a","categoryId":2,"status":null}`,
			`{"tags":[{"deep":[1,2,{}]}],"categoryId":2,"name":"a","id":1,"born":null}`,
			`{"\u0069\u0064":1,"n\u0061me":"\u0061","categoryId":2,"status":"s\u006fld"}`,
			" \n{\"id\" : 1, \"name\":\"\\u0061\", \"categoryId\":2}\r\n\t ",
		} {
			t.Run(body, func(t *testing.T) {
				client, _ := scripted(t, []responder{status(201, body)})
				result, err := client.CreatePet(t.Context(), newPet())
				require.NoError(t, err, body)
				assert.Equal(t, "a", result.Pet.Name)
				assert.EqualValues(t, 1, result.Pet.ID)
				assert.EqualValues(t, 2, result.Pet.CategoryID)
			})
		}
	})
	t.Run("the media type of a success must be JSON", func(t *testing.T) {
		for mediaType, ok := range map[string]bool{
			"application/json": true, "application/json; charset=utf-8": true, "Application/JSON": true,
			"": false, "text/html": false, "text/json": false, "application/problem+json": false, "json": false, "a b c": false,
		} {
			t.Run(mediaType, func(t *testing.T) {
				client, _ := scripted(t, []responder{status(200, `[]`, "Content-Type: ", "Content-Type: "+mediaType)})
				_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				assert.Equal(t, !ok, errors.Is(err, petstore.ErrInvalidResponse), "%q: %v", mediaType, err)
			})
		}
		client, _ := scripted(t, []responder{status(200, `[]`, "Content-Encoding: br")})
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		assert.ErrorIs(t, err, petstore.ErrInvalidResponse)
	})
	t.Run("an error body is decoded if it is an Error object", func(t *testing.T) {
		for body, want := range map[string][2]string{
			`{"code":"c","message":"m","status":404}`:           {"c", "m"},
			`{"code":"c","message":"m","status":404,"trace":1}`: {"c", "m"},
			`{"message":"m"}`:           {"", "m"},
			`<html>no</html>`:           {"", ""},
			`{"code":404}`:              {"", ""},
			`[]`:                        {"", ""},
			``:                          {"", ""},
			"{\"message\":\"\xff\"}":    {"", ""},
			`{"code":"c","message":"m"`: {"", ""},
		} {
			t.Run(body, func(t *testing.T) {
				client, _ := scripted(t, []responder{status(404, body, "Content-Type: text/html")})
				_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				e, ok := errors.AsType[*petstore.APIError](err)
				require.True(t, ok, "%s: %T", body, err)
				assert.Equal(t, want, [2]string{e.Code, e.Message}, body)
				assert.Equal(t, body, string(e.Body))
			})
		}
	})
}

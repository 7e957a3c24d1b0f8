package petstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/testkit"
)

// TestRequestGolden compares the call and the text of each request with a golden file.
func TestRequestGolden(t *testing.T) {
	var calls []petstore.Call
	client, service := scripted(t, []responder{status(404, ``)}, petstore.WithHeader("User-Agent", "goldens/1"),
		petstore.WithTrace(&petstore.ClientTrace{
			AttemptStart: func(_ context.Context, c petstore.Call) { calls = append(calls, c) },
		}))
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		require.ErrorIs(t, samples[name].call(client, petstore.WithBackground()), petstore.ErrNotFound)
	}
	_ = do("DELETE")(client, petstore.WithHeader("user-agent", "of-the-call/1"), petstore.WithHeader("x-team", "edge"))
	_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{})
	_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 1, Status: "sold & gone"})
	_, _ = client.CreatePet(t.Context(), petstore.NewPet{Name: "x"})
	_, _ = client.CreatePet(t.Context(), petstore.NewPet{
		Name: "Ünal \"<Rex>\" & \u2028 \\ 🐕\n", CategoryID: -9223372036854775808, Status: petstore.PetStatusPending,
	})
	_, _ = client.GetPet(t.Context(), 9223372036854775807)
	for _, text := range []string{"7;admin=true", "a,b:c@d+e=f&g$h", "ä ö"} {
		path := "/pets/" + url.PathEscape(text) + "?q=1%2C2"
		_, _ = client.Do(t.Context(), http.MethodPut, path, json.RawMessage(`{"tag": "good"}`), nil)
	}
	var all bytes.Buffer
	for n, r := range service.sent() {
		calls[n].ID = ""
		fmt.Fprintf(&all, "%+v\n", calls[n])
		assert.Equal(t, "Bearer "+testKey, r.header.Get("Authorization"))
		r.header.Set("Authorization", "Bearer …")
		all.WriteString(r.method + " " + strings.TrimPrefix(r.url, "https://service.test") + "\n")
		require.NoError(t, r.header.Write(&all))
		all.WriteString("\n" + r.body + "\n\n")
	}
	testkit.AssertGolden(t, "testdata/requests.txt", strings.ReplaceAll(all.String(), "\r\n", "\n"))
}

func TestDo(t *testing.T) {
	t.Run("repeats a GET, and sends everything else once", func(t *testing.T) {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			client, service := scripted(t, []responder{status(503, ""), status(200, `{"a":1}`), status(204, "")}, quick)
			var out struct{ A int }
			response, err := client.Do(t.Context(), method, "orders", nil, &out)
			require.Equal(t, method != "GET", errors.Is(err, petstore.ErrOutcomeUnknown), method)
			assert.Equal(t, err == nil, response != nil, "none with an error")
			for len(service.sent()) < 3 {
				response, err := client.Do(t.Context(), method, "orders", nil, &out)
				require.NoError(t, err)
				assert.Equal(t, 1, response.Attempts)
			}
			assert.Equal(t, 1, out.A, "a 204 leaves it unchanged")
		}
	})
	t.Run("takes no success that is no JSON", func(t *testing.T) {
		page := status(200, "<html>log in", "Content-Type: text/html")
		for _, respond := range []responder{page, status(200, "<html>log in"), status(200, "{}{}")} {
			client, _ := scripted(t, []responder{respond})
			for _, out := range []any{nil, new(json.RawMessage), new(struct{})} {
				_, err := client.Do(t.Context(), http.MethodDelete, "pets/7", nil, out)
				require.ErrorIs(t, err, petstore.ErrInvalidResponse)
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			}
		}
		client, _ := scripted(t, []responder{status(200, "", "Content-Type: ")})
		require.NoError(t, do("DELETE")(client), "nobody wants a value")
	})
	t.Run("gives a DELETE a body, since net/http sends no body again", func(t *testing.T) {
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			assert.NotNil(t, r.Body)
			return status(204, "")(r)
		}})
		for range 2 { // the second time, it knows that the last response came over HTTP/1
			require.NoError(t, do("DELETE")(client))
		}
	})
}

// TestDecoding has bodies of a success that follow the document, and bodies with one mistake.
func TestDecoding(t *testing.T) {
	const whole = "" // no problem
	for body, problem := range map[string]string{
		onePet: whole, ` {"id":-1,"name":"","categoryId":0} `: whole,
		`{"id":1,"name":"\u00e9","categoryId":1,"status":null,"tag":{}}`: whole,
		`{"name":"x","categoryId":1}`:                                    "id is missing",
		`{"id":null,"name":"x","categoryId":1}`:                          "id is missing",
		`{"id":"1","name":"x","categoryId":1}`:                           "id is missing, of a wrong type, or out of range",
		`{"ID":1,"name":"x","categoryId":1}`:                             "id is missing",
		`{"id":1,"categoryId":1}`:                                        "name is missing",
		`{"id":1,"name":["x"],"categoryId":1}`:                           "name is missing",
		`{"id":1,"name":"x"}`:                                            "categoryId is missing",
		`{"id":1,"name":"x","categoryId":1,"status":1}`:                  "status is missing",
		`{"id":1.5,"name":"x","categoryId":1}`:                           "id is missing",
		`{"id":9223372036854775808,"name":"x","categoryId":1}`:           "id is missing",
		`{"id":1,"id":2,"name":"x","categoryId":1}`:                      "duplicate",
		`{"id":1,"name":"x","categoryId":1`:                              "body",
		`{"id":1,"name":"x","categoryId":1},`:                            "invalid character",
		"null":                                                           "a pet is not an object",
	} {
		service := func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				return status(201, body)(r)
			}
			return status(200, "["+body+"]")(r)
		}
		for _, call := range []callFunc{create, list} {
			client, _ := scripted(t, []responder{service})
			err := call(client)
			require.Equal(t, problem == whole, err == nil, "%s: %v", body, err)
			if err != nil {
				require.ErrorIs(t, err, petstore.ErrInvalidResponse)
				assert.ErrorContains(t, err, problem)
			}
		}
	}
	for status, valid := range map[petstore.PetStatus]bool{"available": true, "pending": true, "sold": true, "": false} {
		assert.Equal(t, valid, status.Valid(), "%q", status)
	}
	for value, valid := range map[string]bool{ // a media type may have any parameters
		"application/json": true, "Application/JSON ; charset=utf-8": true, "application/json;;": true,
		"text/html": false, "application/jsonx": false, "": false,
	} {
		client, _ := scripted(t, []responder{status(200, "[]", "Content-Type: "+value)})
		assert.Equal(t, valid, list(client) == nil, value)
	}
	for body, valid := range map[string]bool{"null": false, "{}": false, `"x"`: false, "[": false, "[]": true} {
		client, _ := scripted(t, []responder{status(200, body)})
		result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		assert.Equal(t, valid, err == nil, body)
		assert.True(t, err != nil || result.Pets != nil, "no pets are an empty list")
	}
}

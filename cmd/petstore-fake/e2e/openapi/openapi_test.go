// Package openapi tests openapi.yaml, and then the fake and the client against it, with a library
// that reads this document.
package openapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const baseURL = "https://petstore.example/v1"

// validator is a transport to a service that compares each exchange with openapi.yaml.
type validator struct {
	service http.Handler
	doc     *openapi3.T
	router  routers.Router
	seen    map[string]bool // operations with the statuses of their responses
	found   []error         // differences from the document
}

func newValidator(t *testing.T, service http.Handler) *validator {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../../openapi.yaml")
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	doc.Servers = openapi3.Servers{{URL: baseURL}}
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	return &validator{service: service, doc: doc, router: router, seen: map[string]bool{}}
}

// RoundTrip returns the response of the service. A difference from the document is noted, and is no
// error for the client.
func (v *validator) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(sent))
	recorder := httptest.NewRecorder()
	v.service.ServeHTTP(recorder, r)
	if err := v.validate(r, sent, recorder); err != nil {
		v.found = append(v.found, fmt.Errorf("%s %s %q, %d %q: %w",
			r.Method, r.URL.RequestURI(), sent, recorder.Code, recorder.Body, err))
	}
	return recorder.Result(), nil
}

func (v *validator) validate(r *http.Request, sent []byte, response *httptest.ResponseRecorder) error {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
	route, params, err := v.router.FindRoute(r)
	if err != nil {
		return err
	}
	v.seen[fmt.Sprint(route.Operation.OperationID, " ", response.Code)] = true
	request := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: authenticate, SkipSettingDefaults: true},
	}
	err = cmp.Or(openapi3filter.ValidateRequest(context.Background(), request), int64s(sent))
	_, refused := errors.AsType[*openapi3filter.SecurityRequirementsError](err)
	if refused != (response.Code == http.StatusUnauthorized) || (response.Code == http.StatusBadRequest) && err == nil ||
		response.Code < http.StatusBadRequest && err != nil {
		return fmt.Errorf("the status does not fit the request: %w", err)
	}
	return errors.Join(int64s(response.Body.Bytes()), openapi3filter.ValidateResponse(context.Background(),
		&openapi3filter.ResponseValidationInput{
			RequestValidationInput: request,
			Status:                 response.Code, Header: response.Header(),
			Body:    io.NopCloser(bytes.NewReader(response.Body.Bytes())),
			Options: &openapi3filter.Options{IncludeResponseStatus: true},
		}))
}

// int64s checks the format int64, which the library does not.
func int64s(body []byte) error {
	for _, found := range regexp.MustCompile(`"(?:id|categoryId)":\s*(-?\d+)`).FindAllSubmatch(body, -1) {
		if _, err := strconv.ParseInt(string(found[1]), 10, 64); err != nil {
			return err
		}
	}
	return nil
}

func authenticate(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	if in.RequestValidationInput.Request.Header.Get("Authorization") != "Bearer "+fake.DefaultAPIKey {
		return errors.New("the key is missing or invalid")
	}
	return nil
}

func TestDocument(t *testing.T) {
	server := fake.NewTestServer(t)
	v := newValidator(t, server)
	key := server.APIKey()
	conformance.Run(t, conformance.Target{BaseURL: baseURL, APIKey: key, HTTPClient: &http.Client{Transport: v}})
	client, err := petstore.NewClient(baseURL, key, petstore.WithHTTPClient(&http.Client{Transport: v}))
	require.NoError(t, err)
	_, _ = client.CreatePet(t.Context(), petstore.NewPet{Name: "Mia", CategoryID: 1 << 62})
	_, _ = client.GetPet(t.Context(), 1)
	_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 100, Status: petstore.PetStatusSold})
	server.BanKey(key, time.Hour)
	for _, o := range fake.Operations() { // the document has a 429 for each
		r := httptest.NewRequest(o.Method, baseURL+strings.ReplaceAll(o.Path, "{petId}", "1"), nil)
		r.Header.Set("Authorization", "Bearer "+key)
		_, _ = v.RoundTrip(r)
	}
	assert.Empty(t, v.found)
	var documented []string
	for _, path := range v.doc.Paths.Map() {
		for _, o := range path.Operations() {
			for status := range o.Responses.Map() {
				documented = append(documented, o.OperationID+" "+status)
			}
		}
	}
	assert.ElementsMatch(t, documented, slices.Collect(maps.Keys(v.seen)))
}

// TestValidator has the validator look at wrong services: a validator that never finds anything
// could be broken.
func TestValidator(t *testing.T) {
	const pet, refusal = `{"id":1,"name":"Mia","categoryId":3}`, `{"code":"c","message":"m","status":400}`
	for _, c := range []struct {
		request  string
		status   int
		response string
		finds    string // empty: nothing is wrong
	}{
		{"GET /pets", 200, "[" + pet + "]", ""},
		{"GET /pets", 200, "null", "doesn't match schema"},
		{"GET /pets/1", 200, strings.Replace(pet, "1", "9223372036854775808", 1), "out of range"},
		{"GET /pets/1", 200, strings.Replace(pet, "}", `,"status":"lost"}`, 1), "doesn't match schema"},
		{`POST /pets {"name":"Mia","categoryId":3}`, 400, refusal, "does not fit"},
		{"GET /pets", 401, refusal, "does not fit"},
		{"GET /pets?limit=101", 200, "[]", "limit"},
		{"GET /pets", 429, strings.Replace(refusal, "400", "429", 1), "Retry-After"},
		{"GET /animals", 404, refusal, "no matching operation"},
	} {
		v := newValidator(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for _, name := range []string{"Limit", "Remaining", "Reset"} {
				w.Header().Set("X-RateLimit-"+name, "1922400060")
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.response)
		}))
		method, rest, _ := strings.Cut(c.request, " ")
		path, body, _ := strings.Cut(rest, " ")
		r := httptest.NewRequest(method, baseURL+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
		r.Header.Set("Content-Type", "application/json")
		_, _ = v.RoundTrip(r)
		if c.finds == "" {
			assert.Empty(t, v.found, c.request)
		} else if assert.Len(t, v.found, 1, c.request) {
			assert.ErrorContains(t, v.found[0], c.finds, c.request)
		}
	}
}

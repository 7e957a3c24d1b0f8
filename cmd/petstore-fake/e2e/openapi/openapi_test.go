// Package openapi checks openapi.yaml with a library for OpenAPI. Then it checks that the requests
// of the client and the responses of the fake are as openapi.yaml describes them.
package openapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
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

// validator is a transport that passes requests to a service. It compares each request and each
// response with openapi.yaml.
type validator struct {
	service http.Handler
	router  routers.Router
	missing map[string]bool // "operation status" of the document that no response has had yet
	found   []error         // the differences from the document
}

func newValidator(t *testing.T, service http.Handler) *validator {
	doc, err := openapi3.NewLoader().LoadFromFile("../../../../openapi.yaml")
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	doc.Servers = openapi3.Servers{{URL: baseURL}}
	v := &validator{service: service, missing: map[string]bool{}}
	v.router, err = gorillamux.NewRouter(doc)
	require.NoError(t, err)
	for _, path := range doc.Paths.Map() {
		for _, o := range path.Operations() {
			for status := range o.Responses.Map() {
				v.missing[o.OperationID+" "+status] = true
			}
		}
	}
	return v
}

// RoundTrip returns the response of the service. It adds a difference from the document to found,
// and does not return it as an error, so that the client goes on.
func (v *validator) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(sent))
	w := httptest.NewRecorder()
	v.service.ServeHTTP(w, r)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
	if err := v.validate(r, sent, w); err != nil {
		v.found = append(v.found, fmt.Errorf("%s %s %q, %d %q: %w", r.Method, r.URL, sent, w.Code, w.Body, err))
	}
	return w.Result(), nil
}

func (v *validator) validate(r *http.Request, sent []byte, w *httptest.ResponseRecorder) error {
	route, params, err := v.router.FindRoute(r)
	if err != nil {
		return err
	}
	delete(v.missing, fmt.Sprint(route.Operation.OperationID, " ", w.Code))
	authenticate := func(context.Context, *openapi3filter.AuthenticationInput) error {
		if r.Header.Get("Authorization") != "Bearer "+fake.DefaultAPIKey {
			return errors.New("the key is missing or invalid")
		}
		return nil
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: authenticate, SkipSettingDefaults: true}}
	err = cmp.Or(openapi3filter.ValidateRequest(r.Context(), in), int64s(sent))
	_, refused := errors.AsType[*openapi3filter.SecurityRequirementsError](err)
	if refused != (w.Code == 401) || w.Code == 400 && err == nil || w.Code < 400 && err != nil {
		return fmt.Errorf("the status does not fit the request: %w", err)
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: w.Code, Header: w.Header(),
		Options: &openapi3filter.Options{IncludeResponseStatus: true}}
	return errors.Join(int64s(w.Body.Bytes()), openapi3filter.ValidateResponse(r.Context(), out.SetBodyBytes(w.Body.Bytes())))
}

// int64s checks the format int64, because the library does not check it.
func int64s(body []byte) error {
	for _, found := range regexp.MustCompile(`"(?:id|categoryId)":\s*(-?\d+)`).FindAllSubmatch(body, -1) {
		if _, err := strconv.ParseInt(string(found[1]), 10, 64); err != nil {
			return err
		}
	}
	return nil
}

func TestDocument(t *testing.T) {
	server := fake.NewTestServer(t)
	v, key := newValidator(t, server), server.APIKey()
	conformance.Run(t, conformance.Target{BaseURL: baseURL, APIKey: key, HTTPClient: &http.Client{Transport: v}})
	client, err := petstore.NewClient(baseURL, key, petstore.WithHTTPClient(&http.Client{Transport: v}))
	require.NoError(t, err)
	_, _ = client.CreatePet(t.Context(), petstore.NewPet{Name: "Mia", CategoryID: 1 << 62})
	_, _ = client.GetPet(t.Context(), 1)
	_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 100, Status: petstore.PetStatusSold})
	server.BanKey(key, time.Hour)
	for _, o := range fake.Operations() { // the document has a 429 for each operation
		r := httptest.NewRequest(o.Method, baseURL+strings.ReplaceAll(o.Path, "{petId}", "1"), nil)
		r.Header.Set("Authorization", "Bearer "+key)
		_, _ = v.RoundTrip(r)
	}
	assert.Empty(t, v.found)
	assert.Empty(t, v.missing, "the document has them, and no request above got such a response")

	// This checks the validator: it must find an error in each of these wrong responses. Wrong
	// requests were checked above: if a request gets a 400, the validator must find an error in it.
	for response, finds := range map[string]string{
		"null": "doesn't match schema", `[{"id":1,"name":"Mia"}]`: "categoryId", `[{"id":9223372036854775808}]`: "out of range",
	} {
		v.found = nil
		server.Reset()
		server.Inject(fake.Fault{Body: []byte(response)})
		_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{})
		assert.ErrorContains(t, errors.Join(v.found...), finds)
	}
}

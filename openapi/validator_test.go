package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

const baseURL = "https://petstore.example/v1"

// validator is a transport that checks every exchange against openapi.yaml. A finding is a verdict
// and no error, so that the client sees the response of the service.
type validator struct {
	service http.RoundTripper
	router  routers.Router

	mu       sync.Mutex
	seen     map[string]int // exchanges, by operation and status
	verdicts []error
}

func newValidator(t *testing.T, service http.RoundTripper) *validator {
	t.Helper()
	doc := load(t)
	doc.Servers = openapi3.Servers{{URL: baseURL}}
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	return &validator{service: service, router: router, seen: make(map[string]int)}
}

// RoundTrip sends a request and validates the exchange.
func (v *validator) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := v.service.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(answer))

	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.validate(r, sent, resp, answer); err != nil {
		v.verdicts = append(v.verdicts, fmt.Errorf("%s %s %q → %d %q: %w",
			r.Method, r.URL.RequestURI(), sent, resp.StatusCode, answer, err))
	}
	return resp, nil
}

func (v *validator) validate(r *http.Request, sent []byte, resp *http.Response, answer []byte) error {
	asked := r.Clone(context.Background())
	asked.Body, asked.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
	route, params, err := v.router.FindRoute(asked)
	if err != nil {
		return err
	}
	v.seen[fmt.Sprint(route.Operation.OperationID, " ", resp.StatusCode)]++
	request := &openapi3filter.RequestValidationInput{
		Request: asked, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: authenticate, SkipSettingDefaults: true},
	}
	if err := validateRequest(request, sent, resp.StatusCode); err != nil {
		return err
	}
	if err := checkInt64(answer); err != nil {
		return err
	}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: request,
		Status:                 resp.StatusCode, Header: resp.Header,
		Body:    io.NopCloser(bytes.NewReader(answer)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
}

// validateRequest checks a request, and whether its response has the right status.
func validateRequest(request *openapi3filter.RequestValidationInput, sent []byte, status int) error {
	err := openapi3filter.ValidateRequest(context.Background(), request)
	if err == nil {
		err = checkInt64(sent)
	}
	_, unauthorized := errors.AsType[*openapi3filter.SecurityRequirementsError](err)
	switch {
	case unauthorized != (status == http.StatusUnauthorized):
		return fmt.Errorf("the status does not fit the key: %w", err)
	case unauthorized:
		return nil
	case status == http.StatusBadRequest && err == nil:
		return errors.New("the request is valid")
	case status == http.StatusBadRequest:
		return nil
	}
	return err
}

var integers = regexp.MustCompile(`"(?:id|categoryId)":\s*(-?\d+)`)

// checkInt64 checks the format int64, which is an annotation in OpenAPI 3.1 and not checked by
// kin-openapi.
func checkInt64(body []byte) error {
	for _, found := range integers.FindAllSubmatch(body, -1) {
		if _, err := strconv.ParseInt(string(found[1]), 10, 64); err != nil {
			return err
		}
	}
	return nil
}

// authenticate checks a request against the security requirement of the document: HTTP bearer.
func authenticate(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	scheme, key, _ := strings.Cut(in.RequestValidationInput.Request.Header.Get("Authorization"), " ")
	if in.SecurityScheme.Type != "http" || in.SecurityScheme.Scheme != "bearer" {
		return fmt.Errorf("the document asks for %s %s", in.SecurityScheme.Type, in.SecurityScheme.Scheme)
	}
	if scheme != "Bearer" || key != fake.DefaultAPIKey {
		return errors.New("the key is missing or invalid")
	}
	return nil
}

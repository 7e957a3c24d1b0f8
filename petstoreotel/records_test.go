package petstoreotel_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestRecords(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		s.callsWithSecrets()
		s.assertNamesAndUnits()
		spans, err := json.Marshal(tracetest.SpanStubsFromReadOnlySpans(s.spans.Ended()))
		require.NoError(t, err)
		metrics, err := json.Marshal(s.collect())
		require.NoError(t, err)
		assert.Greater(t, strings.Count(string(spans), "error.type"), 4)
		assert.Contains(t, string(metrics), "closed_until")
		for _, secret := range []string{
			fake.DefaultAPIKey, "Confidentia", "Discretia", "991775555", "991885555", "tenant-header", "Bearer", "key=", "limit=",
		} {
			assert.NotContains(t, string(spans), secret)
			assert.NotContains(t, string(metrics), secret)
		}
		assert.Contains(t, string(spans), "/v1/pets/5550123")
		assert.NotContains(t, string(metrics), "5550123", "too many series")
	}, fake.WithPets(petstore.NewPet{Name: "Confidentia", CategoryID: 991775555}))
}

func (s *harness) assertNamesAndUnits() {
	s.t.Helper()
	const scope = "github.com/petstore/petstore-go/petstoreotel"
	for _, span := range s.spans.Ended() {
		by := span.InstrumentationScope()
		assert.Equal(s.t, []string{scope, petstore.Version, semconv.SchemaURL}, []string{by.Name, by.Version, by.SchemaURL})
	}
	metrics := s.collect()
	assert.Equal(s.t, []string{scope, semconv.SchemaURL}, []string{metrics.Scope.Name, metrics.Scope.SchemaURL})
	units := make(map[string]string)
	for _, m := range metrics.Metrics {
		units[m.Name] = m.Unit
		assert.NotEmpty(s.t, m.Description, m.Name)
	}
	const limit = "petstore.client.rate_limit."
	assert.Equal(s.t, map[string]string{
		httpconv.ClientRequestDuration{}.Name(): httpconv.ClientRequestDuration{}.Unit(),
		"petstore.client.call.duration":         "s",
		limit + "wait_time":                     "s", limit + "waits_given_up": "{wait}", limit + "waiting_calls": "{call}",
		limit + "limit": "{request}", limit + "remaining": "{request}", limit + "closed_until": "s", limit + "processes": "{process}",
	}, units)
}

// callsWithSecrets makes calls that have secrets in every place that there is.
func (s *harness) callsWithSecrets() {
	s.t.Helper()
	ctx, key := s.t.Context(), s.server.APIKey()
	client := s.newClient()
	_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 73, Status: petstore.PetStatusPending})
	require.NoError(s.t, err)
	_, err = client.GetPet(ctx, 5550123, petstore.WithHeader("X-Tenant", "tenant-header"))
	require.ErrorIs(s.t, err, petstore.ErrNotFound)
	s.server.Inject(fake.Fault{Status: 400, Code: key, Message: "the key " + key, Header: http.Header{
		"X-Echo": {key}, "X-Request-Id": {key}, "Location": {"https://service.test/?key=" + key},
	}})
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Discretia", CategoryID: 991885555})
	require.Error(s.t, err)

	leaking := errors.New("GET https://service.test/v1/pets/5550123?limit=73 with Bearer " + key)
	_, err = s.newClient(petstore.WithHTTPClient(&http.Client{Transport: roundTripper(
		func(*http.Request) (*http.Response, error) { return nil, leaking })})).GetPet(ctx, 5550123)
	require.Error(s.t, err)
	appending := petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			req = req.Clone(req.Context())
			req.URL.RawQuery, req.URL.User, req.URL.Fragment = "key="+key+"&status="+key, url.UserPassword(key, key), key
			return base.RoundTrip(req)
		})
	})
	_, err = s.newClient(appending).ListPets(ctx, petstore.ListPetsParams{})
	require.ErrorIs(s.t, err, petstore.ErrBadRequest)
	for _, path := range []string{"/pets?key=" + key + "&limit=" + key, "/keys/" + key} {
		_, err = client.Do(ctx, http.MethodGet, path, nil, nil)
		require.Error(s.t, err)
	}

	s.server.Inject(fake.Fault{Status: 429, RetryAfter: "9000"})
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Discretia", CategoryID: 991885555})
	require.ErrorIs(s.t, err, petstore.ErrRateLimited)
}

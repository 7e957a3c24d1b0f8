package petstoreotel_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestExportedBytesHoldNothingSecret(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		spans, metrics := s.export(s.callsWithSecrets)
		assert.Greater(t, bytes.Count(spans, []byte("error.type")), 4)
		assert.Contains(t, string(spans), "petstore.wait")
		assert.Positive(t, bytes.Count(metrics, []byte(metricClosedUntil)))
		for _, secret := range []string{
			fake.DefaultAPIKey, "Confidentia", "Discretia", "991775555", "991885555", "tenant-header", "Bearer", "elsewhere",
			"petstore-go/" + petstore.Version, "key=",
		} {
			assert.NotContains(t, string(spans), secret)
			assert.NotContains(t, string(metrics), secret)
		}
		for _, tooMany := range []string{"5550123", "limit=", "=pending", "REDACTED"} { // for a metric to have
			assert.Contains(t, string(spans), tooMany)
			assert.NotContains(t, string(metrics), tooMany)
		}
	}, fake.WithPets(petstore.NewPet{Name: "Confidentia", CategoryID: 991775555}))
}

// export returns all bytes that are exported about calls.
func (s *harness) export(calls func()) (spans, metrics []byte) {
	s.t.Helper()
	var spanBytes, metricBytes bytes.Buffer
	toSpans, err := stdouttrace.New(stdouttrace.WithWriter(&spanBytes))
	require.NoError(s.t, err)
	toMetrics, err := stdoutmetric.New(stdoutmetric.WithWriter(&metricBytes))
	require.NoError(s.t, err)
	s.opts = append(s.opts,
		petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(toSpans))))
	calls()

	var all metricdata.ResourceMetrics
	require.NoError(s.t, s.reader.Collect(s.t.Context(), &all))
	require.NoError(s.t, toMetrics.Export(s.t.Context(), &all))
	return spanBytes.Bytes(), metricBytes.Bytes()
}

// callsWithSecrets makes calls that have secrets in every place that there is.
func (s *harness) callsWithSecrets() {
	s.t.Helper()
	ctx, key := s.t.Context(), s.server.APIKey()
	client := s.newClient(s.base())
	_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 73, Status: petstore.PetStatusPending})
	require.NoError(s.t, err)
	_, err = client.GetPet(ctx, 5550123, petstore.WithHeader("X-Tenant", "tenant-header")) //nolint:staticcheck // the operation with an id in its path
	require.ErrorIs(s.t, err, petstore.ErrNotFound)
	s.server.Inject(fake.Fault{Status: 400, Code: key, Message: "the key " + key, Header: http.Header{
		"X-Echo": {key}, "X-Request-Id": {key}, "Location": {"https://elsewhere.test/?key=" + key},
	}})
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Discretia", CategoryID: 991885555})
	require.Error(s.t, err)

	leaking := roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("GET https://service.test/v1/pets/5550123?limit=73 with Bearer " + key)
	})
	_, err = s.newClient(leaking).GetPet(ctx, 5550123) //nolint:staticcheck // the operation with an id in its path
	require.Error(s.t, err)
	_, err = (&http.Client{Transport: petstoreotel.NewTransport(leaking, s.opts...)}).Get( //nolint:bodyclose // it fails
		"https://" + key + ":" + key + "@service.test/" + key + "?limit=73&key=" + key + "#" + key)
	require.Error(s.t, err)
	appending := petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
		inner := petstoreotel.NewTransport(base, s.opts...)
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			req = req.Clone(req.Context())
			req.URL.RawQuery = "key=" + key + "&status=" + key
			return inner.RoundTrip(req)
		})
	})
	_, err = s.bareClient(s.base(), appending).ListPets(ctx, petstore.ListPetsParams{})
	require.ErrorIs(s.t, err, petstore.ErrBadRequest)

	s.server.Inject(fake.Fault{Status: 429, RetryAfter: "9000"})
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Discretia", CategoryID: 991885555})
	require.ErrorIs(s.t, err, petstore.ErrRateLimited)
}

func attributesOf(data metricdata.Aggregation) map[attribute.Set]bool {
	sets := make(map[attribute.Set]bool)
	for set := range integers(data) {
		sets[set] = true
	}
	switch data := data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			sets[p.Attributes] = true
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			sets[p.Attributes] = true
		}
	}
	return sets
}

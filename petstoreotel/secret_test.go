package petstoreotel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestNothingThatIsTheCallersBusinessIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t, fake.WithPets(petstore.NewPet{Name: "Confidentia", CategoryID: 99177}))
		key := s.server.APIKey()
		ctx := t.Context()

		_, err := s.client.ListPets(ctx, petstore.ListPetsParams{Limit: 73, Status: petstore.PetStatusPending})
		require.NoError(t, err)
		_, err = s.client.CreatePet(ctx, petstore.NewPet{Name: "Discretia", CategoryID: 99188})
		require.NoError(t, err)
		_, err = s.client.GetPet(ctx, 5550123, petstore.WithHeader("X-Tenant", "tenant-header")) //nolint:staticcheck // the operation with an id in its path
		require.ErrorIs(t, err, petstore.ErrNotFound)
		s.server.Inject(fake.Fault{Status: 400, Code: key, Message: "the key " + key, Header: http.Header{
			"X-Echo": {key}, "Location": {"https://elsewhere.test/?key=" + key},
		}})
		_, err = s.client.CreatePet(ctx, petstore.NewPet{Name: "Discretia", CategoryID: 99188})
		require.Error(t, err)

		leaking := roundTripper(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("GET https://service.test/v1/pets/5550123?limit=73 with Bearer " + key)
		})
		_, err = s.newClient(leaking).GetPet(ctx, 5550123) //nolint:staticcheck // the operation with an id in its path
		require.Error(t, err)
		_, err = (&http.Client{Transport: petstoreotel.NewTransport(leaking, s.opts...)}).Get( //nolint:bodyclose // it fails
			"https://" + key + ":" + key + "@service.test/5550123?limit=73#" + key)
		require.Error(t, err)

		recorded := s.everything()
		assert.Greater(t, strings.Count(recorded, "error.type"), 4)
		for _, secret := range []string{
			key, "Confidentia", "Discretia", "99177", "99188", "5550123", "tenant-header", "limit=", "73", "pending",
			"?", "Bearer", "elsewhere", "petstore-go/" + petstore.Version,
		} {
			assert.NotContains(t, recorded, secret)
		}
	})
}

// everything is the text of all that was recorded, but for what is random or the time.
func (s *station) everything() string {
	s.t.Helper()
	var b strings.Builder
	for _, span := range tracetest.SpanStubsFromReadOnlySpans(s.ended()) {
		fmt.Fprintln(&b, span.Name, span.SpanKind, span.Status.Description)
		assert.Empty(s.t, span.Status.Description)
		for _, event := range span.Events {
			attributes, err := json.Marshal(event.Attributes)
			require.NoError(s.t, err)
			fmt.Fprintln(&b, event.Name, string(attributes))
		}
		assert.Empty(s.t, span.Links)
		attributes, err := json.Marshal(span.Attributes)
		require.NoError(s.t, err)
		fmt.Fprintln(&b, string(attributes))
	}
	for _, m := range s.collect().Metrics {
		fmt.Fprintln(&b, m.Name, m.Unit, m.Description)
		for set := range attributesOf(m.Data) {
			fmt.Fprintln(&b, set.Encoded(attribute.DefaultEncoder()))
		}
	}
	return b.String()
}

func attributesOf(data metricdata.Aggregation) map[attribute.Set]bool {
	sets := make(map[attribute.Set]bool)
	for set := range integers(data) {
		sets[set] = true
	}
	if data, ok := data.(metricdata.Histogram[float64]); ok {
		for _, p := range data.DataPoints {
			sets[p.Attributes] = true
		}
	}
	return sets
}

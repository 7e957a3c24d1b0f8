package petstoreotel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

// convention is an attribute of the conventions. Its key comes from the package that is generated
// from them: a key that the pinned version does not have does not compile.
type convention struct {
	kind                         attribute.Type
	value                        string // a regular expression
	span, metric                 bool   // http.client.request.duration
	requiredSpan, requiredMetric bool   // by the conventions for an HTTP client
}

var conventions = map[attribute.Key]convention{
	semconv.HTTPRequestMethodKey:         {attribute.STRING, "^(GET|POST|_OTHER)$", true, true, true, true},
	semconv.HTTPRequestMethodOriginalKey: {attribute.STRING, ".", true, false, false, false},
	semconv.HTTPRequestResendCountKey:    {attribute.INT64, "^[1-9]$", true, false, false, false},
	semconv.HTTPResponseStatusCodeKey:    {attribute.INT64, `^\d{3}$`, true, true, false, false},
	semconv.ErrorTypeKey:                 {attribute.STRING, `^(\d{3}|[\w.*]+)$`, true, true, false, false},
	semconv.NetworkProtocolVersionKey:    {attribute.STRING, `^[\d.]+$`, true, true, false, false},
	semconv.ServerAddressKey:             {attribute.STRING, ".", true, true, true, true},
	semconv.ServerPortKey:                {attribute.INT64, `^\d+$`, true, true, true, true},
	semconv.URLFullKey:                   {attribute.STRING, "^https://", true, false, true, false},
	semconv.URLSchemeKey:                 {attribute.STRING, "^https$", true, true, false, false},
	semconv.URLTemplateKey:               {attribute.STRING, "^/v1/pets", true, true, false, false},
}

func TestNew_followsTheSemanticConventions(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.everyKind()
		kinds := make(map[trace.SpanKind]int)
		for _, span := range s.ended() {
			kinds[span.SpanKind()]++
			assert.Equal(t, semconv.SchemaURL, span.InstrumentationScope().SchemaURL)
			client := span.SpanKind() == trace.SpanKindClient
			assertConventional(t, span.Name(), set(span), func(c convention) (allowed, required bool) {
				return c.span, c.requiredSpan && client
			})
			for _, event := range span.Events() {
				assertConventional(t, event.Name, attribute.NewSet(event.Attributes...), ownOnly)
			}
		}
		assert.Greater(t, kinds[trace.SpanKindClient], 5)
		assert.Greater(t, kinds[trace.SpanKindInternal], 3)

		metrics := s.collect()
		assert.Equal(t, petstoreotel.ScopeName, metrics.Scope.Name)
		assert.Equal(t, semconv.SchemaURL, metrics.Scope.SchemaURL)
		units := make(map[string]string)
		for _, m := range metrics.Metrics {
			units[m.Name] = m.Unit
			assert.NotEmpty(t, m.Description, m.Name)
			rules := func(c convention) (allowed, required bool) { return c.metric, false }
			if want := (httpconv.ClientRequestDuration{}); !strings.HasPrefix(m.Name, "petstore.") {
				assert.Equal(t, []string{want.Name(), want.Unit(), want.Description()}, []string{m.Name, m.Unit, m.Description})
				rules = func(c convention) (allowed, required bool) { return c.metric, c.requiredMetric }
			}
			for attributes := range attributesOf(m.Data) {
				assertConventional(t, m.Name, attributes, rules)
			}
		}
		assert.Equal(t, map[string]string{
			"http.client.request.duration": "s", metricCallDuration: "s", metricWaitTime: "s", metricWaitsGivenUp: "{wait}",
			metricClosedUntil: "s", metricWaitingCalls: "{call}", metricLimit: "{request}", metricRemaining: "{request}",
		}, units)
	})
}

// ownOnly allows no attribute of the conventions.
func ownOnly(convention) (allowed, required bool) { return false, false }

// assertConventional holds attributes to the conventions, except those of the namespace petstore.
func assertConventional(t *testing.T, name string, all attribute.Set, rules func(convention) (allowed, required bool)) {
	t.Helper()
	for _, kv := range all.ToSlice() {
		if strings.HasPrefix(string(kv.Key), "petstore.") {
			continue
		}
		c, known := conventions[kv.Key]
		allowed, _ := rules(c)
		assert.Truef(t, known && allowed, "%s: %s is not allowed", name, kv.Key)
		assert.Equalf(t, c.kind, kv.Value.Type(), "%s: %s", name, kv.Key)
		assert.Regexpf(t, c.value, kv.Value.String(), "%s: %s", name, kv.Key)
	}
	for key, c := range conventions {
		if _, required := rules(c); required {
			assert.Truef(t, all.HasValue(key), "%s: %s is missing", name, key)
		}
	}
}

// everyKind makes calls and requests of every kind.
func (s *harness) everyKind() {
	s.t.Helper()
	ctx := s.t.Context()
	_, err := s.client.ListPets(ctx, petstore.ListPetsParams{Limit: 3, Status: petstore.PetStatusSold})
	require.NoError(s.t, err)
	for _, fault := range []fake.Fault{
		{Status: 429, RetryAfter: "7"},
		{Status: 400},
		{Status: 503},
		{Status: 307},
		{Wire: fake.WireReset},
		{Wire: fake.WireTruncate},
		{Status: 429, RetryAfter: "9000"},
	} {
		s.server.Inject(fault)
		_, _ = s.client.CreatePet(ctx, petstore.NewPet{Name: "Rex"})
	}
	_, err = s.client.GetPet(ctx, 12) //nolint:staticcheck // the operation with an id in its path
	require.ErrorIs(s.t, err, petstore.ErrRateLimited)
	other := s.newClient(roundTripper(s.base().RoundTrip), petstore.WithLimiter(petstore.NewLimiter()))
	_, err = other.GetPet(ctx, 12) //nolint:staticcheck // the operation with an id in its path
	require.ErrorIs(s.t, err, petstore.ErrNotFound)
}

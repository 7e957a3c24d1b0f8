package petstoreotel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestNamesAndUnits(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		s.callsWithSecrets()
		const scope = "github.com/petstore/petstore-go/petstoreotel"
		for _, span := range s.ended() {
			by := span.InstrumentationScope()
			assert.Equal(t, []string{scope, petstore.Version, semconv.SchemaURL}, []string{by.Name, by.Version, by.SchemaURL})
		}
		metrics := s.collect()
		assert.Equal(t, []string{scope, semconv.SchemaURL}, []string{metrics.Scope.Name, metrics.Scope.SchemaURL})
		units := make(map[string]string)
		for _, m := range metrics.Metrics {
			units[m.Name] = m.Unit
			assert.NotEmpty(t, m.Description, m.Name)
		}
		assert.Equal(t, map[string]string{
			httpconv.ClientRequestDuration{}.Name(): httpconv.ClientRequestDuration{}.Unit(), metricCallDuration: "s",
			metricWaitTime: "s", metricWaitsGivenUp: "{wait}", metricWaitingCalls: "{call}", metricLimit: "{request}",
			metricRemaining: "{request}", metricClosedUntil: "s",
		}, units)
	})
}

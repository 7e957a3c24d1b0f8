package petstoreotel_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestEachPropagatorSendsItsOwn(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		member, err := baggage.NewMember("user", "4711")
		require.NoError(t, err)
		bag, err := baggage.New(member)
		require.NoError(t, err)
		ctx := baggage.ContextWithBaggage(t.Context(), bag)
		for i, propagator := range []propagation.TextMapPropagator{
			propagation.TraceContext{}, propagation.Baggage{}, propagation.NewCompositeTextMapPropagator(),
		} {
			s.opts = append(s.opts, petstoreotel.WithPropagators(propagator))
			require.NoError(t, listOnce(ctx, s.newClient()))
			sent := s.server.Requests()[i].Header
			assert.Equal(t, []string{"", "user=4711", ""}[i], sent.Get("Baggage"))
			assert.Equal(t, i == 0, sent.Get("Traceparent") != "")
		}
	})
}

func TestNewChangesNoOutcome(t *testing.T) {
	faults := []fake.Fault{{}, {Status: 503}, {Status: 429, RetryAfter: "2"}, {Status: 404}}
	for _, wire := range []fake.Wire{
		fake.WireReset, fake.WireClose, fake.WireTruncate, fake.WireGarbage, fake.WireStall, fake.WireLoginPage, fake.WireRefuse,
	} {
		faults = append(faults, fake.Fault{Wire: wire}, fake.Fault{Wire: wire, Times: fake.Forever})
	}
	for _, fault := range faults {
		recorded(t, func(t *testing.T, s *harness) {
			outcome := func(client *petstore.Client, create bool) string {
				s.server.Reset()
				s.server.Inject(fault)
				var err error
				if create {
					_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
				} else {
					_, err = client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 5, Status: petstore.PetStatusSold})
				}
				return fmt.Sprint(err, errors.Is(err, petstore.ErrOutcomeUnknown), len(s.server.Requests()), s.server.Pets())
			}
			assert.Equal(t, outcome(s.bareClient(s.server.APIKey()), false), outcome(s.newClient(), false))
			assert.Equal(t, outcome(s.bareClient(s.server.APIKey()), true), outcome(s.newClient(), true))
		})
	}
}

func TestModuleLinksNoSDK(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "go.opentelemetry.io/otel/trace\n")
	assert.NotContains(t, string(out), "go.opentelemetry.io/otel/sdk")
	root, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	assert.NotContains(t, string(root), "go.opentelemetry.io")
}

func TestNewTakesTheGlobalProvidersByDefault(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.reader = metric.NewManualReader() // a reader can have only one provider
		otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans)))
		otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(s.reader)))
		otel.SetTextMapPropagator(propagation.TraceContext{})
		t.Cleanup(func() {
			otel.SetTracerProvider(tracenoop.NewTracerProvider())
			otel.SetMeterProvider(metricnoop.NewMeterProvider())
			otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator())
		})
		s.list(s.bareClient(s.server.APIKey(), petstoreotel.New(petstoreotel.WithTracerProvider(nil),
			petstoreotel.WithMeterProvider(nil), petstoreotel.WithPropagators(nil), nil)), nil)
		assert.Len(t, s.ended(), 2)
		assert.Len(t, s.of("http.client.request.duration"), 1)
		assert.NotEmpty(t, s.server.Requests()[0].Header.Get("Traceparent"))
	})
}

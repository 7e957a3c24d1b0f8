package petstoreotel_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestNewLeavesTheMeterWhenNoClientIsLeft(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.list(s.client)
	runtime.GC()
	assert.NotNil(t, s.metric(metricRemaining))
	runtime.KeepAlive(s.client)
	s.client, s.options = nil, nil
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		runtime.GC()
		assert.Nil(c, s.metric(metricRemaining))
	}, 10*time.Second, time.Millisecond)
}

func TestNewReportsAnInstrumentThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []string
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported = append(reported, err.Error()) }))
		for _, refused := range []string{"http.client.request.duration", metricWaitTime, metricLimit, "callback"} {
			s := newHarness(t)
			s.opts = append(s.opts, petstoreotel.WithMeterProvider(refusingProvider{refused: refused}))
			reported = nil
			client := s.newClient(s.base())
			assert.Equal(t, []string{"no " + refused}, reported)
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			assert.NoError(t, err)
		}
	})
}

type refusingProvider struct {
	metricnoop.MeterProvider
	refused string
}

func (p refusingProvider) Meter(string, ...metric.MeterOption) metric.Meter {
	return refusingMeter{refused: p.refused}
}

type refusingMeter struct {
	metricnoop.Meter
	refused string
}

func (m refusingMeter) refuses(name string) error {
	if name == m.refused {
		return errors.New("no " + name)
	}
	return nil
}

func (m refusingMeter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return metricnoop.Float64Histogram{}, m.refuses(name)
}

func (m refusingMeter) Int64ObservableGauge(name string, _ ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return metricnoop.Int64ObservableGauge{}, m.refuses(name)
}

func (m refusingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return metricnoop.Registration{}, m.refuses("callback")
}

func TestNewCostsNextToNothingWhereNothingIsRecorded(t *testing.T) {
	noop := []petstoreotel.Option{
		petstoreotel.WithTracerProvider(tracenoop.NewTracerProvider()),
		petstoreotel.WithMeterProvider(metricnoop.NewMeterProvider()),
	}
	send := petstoreotel.WithPropagators(propagation.TraceContext{})
	bare := allocations(t)
	for _, c := range []struct {
		name string
		opts []petstoreotel.Option
		more float64 // allocations of a call
	}{
		{"no-op providers", noop, 1},
		{"no-op providers and a propagator", append(noop, send), 1},
		{"no-op providers, calls only", append(noop, petstoreotel.WithCallsOnly()), 0},
		{"no SDK installed", nil, 5},
		{"no SDK installed, calls only", []petstoreotel.Option{petstoreotel.WithCallsOnly()}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.LessOrEqual(t, allocations(t, petstoreotel.New(c.opts...))-bare, c.more)
		})
	}
}

// allocations is how many a listPets makes with some options.
func allocations(t *testing.T, opts ...petstore.Option) float64 {
	t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	transport := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader("[]"))}, nil
	})
	client, err := petstore.NewClient("https://service.test/v1", "key", append(opts,
		petstore.WithLimiter(nil), petstore.WithHTTPClient(&http.Client{Transport: transport}))...)
	require.NoError(t, err)
	return testing.AllocsPerRun(200, func() {
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	})
}

func TestNewWithoutATracer(t *testing.T) {
	t.Parallel()
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithRemoteSpanContext(t.Context(), parent)
	for name, opts := range map[string][]petstoreotel.Option{
		"nor a meter":    {petstoreotel.WithMeterProvider(metricnoop.NewMeterProvider())},
		"but with meter": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newHarness(t)
			s.opts = append(append(s.opts, petstoreotel.WithTracerProvider(tracenoop.NewTracerProvider())), opts...)
			_, err := s.newClient(s.base()).ListPets(ctx, petstore.ListPetsParams{})
			require.NoError(t, err)
			sent := s.server.Requests()[0].Header.Get("Traceparent")
			assert.Equal(t, "00-01000000000000000000000000000000-0200000000000000-00", sent)
			assert.Empty(t, s.ended())
			for _, metric := range []string{"http.client.request.duration", metricCallDuration, metricRemaining} {
				assert.Equal(t, opts == nil, s.metric(metric) != nil, metric)
			}
		})
	}
}

// outcome is what a caller and the service see of a call.
type outcome struct {
	Error    string
	Unknown  bool
	Requests int
	Pets     int
}

func TestNewChangesNoOutcome(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, *petstore.Client) error{
		"listPets": func(ctx context.Context, c *petstore.Client) error {
			_, err := c.ListPets(ctx, petstore.ListPetsParams{Limit: 5, Status: petstore.PetStatusSold})
			return err
		},
		"createPet": func(ctx context.Context, c *petstore.Client) error {
			_, err := c.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1})
			return err
		},
	}
	for operation, call := range calls {
		for name, fault := range faults() {
			t.Run(operation+"/"+name, func(t *testing.T) {
				t.Parallel()
				recorded(t, func(t *testing.T, s *harness) {
					bare := s.bareClient(s.base())
					assert.Equal(t, s.outcome(bare, fault, call), s.outcome(s.client, fault, call))
				})
			})
		}
	}
}

func faults() map[string]fake.Fault {
	all := map[string]fake.Fault{
		"none": {}, "unavailable": {Status: 503}, "rate limited": {Status: 429, RetryAfter: "2"},
		"unavailable for ever": {Status: 503, Times: fake.Forever}, "not what was asked for": {Status: 404},
	}
	for _, wire := range fakecontrol.Wires()[1:] {
		all[wire.String()] = fake.Fault{Wire: wire}
		all[wire.String()+" for ever"] = fake.Fault{Wire: wire, Times: fake.Forever}
		if after := (fake.Fault{Wire: wire, AfterCommit: true}); after.Validate() == nil {
			all[wire.String()+" after commit"] = after
		}
	}
	return all
}

func (s *harness) outcome(
	client *petstore.Client, fault fake.Fault, call func(context.Context, *petstore.Client) error,
) outcome {
	s.server.Reset()
	s.server.Inject(fault)
	err := call(s.t.Context(), client)
	o := outcome{
		Unknown:  errors.Is(err, petstore.ErrOutcomeUnknown),
		Requests: len(s.server.Requests()),
		Pets:     len(s.server.Pets()),
	}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}

func TestNewKnowsARequestThatWasNeverWritten(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.opts = append(s.opts, petstoreotel.WithPropagators(injector(func(propagation.TextMapCarrier) { cancel() })))
	client, err := petstore.NewClient(s.server.URL(), s.server.APIKey(), petstoreotel.New(s.opts...))
	require.NoError(t, err)
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Rex"})
	require.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
	assert.Empty(t, s.server.Requests())
}

func TestModuleLinksNoSDK(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	require.NoError(t, err)
	linked := strings.Fields(string(out))
	slices.Sort(linked)
	const telemetry = "go.opentelemetry.io/"
	linked = slices.DeleteFunc(slices.Compact(linked), func(m string) bool { return !strings.HasPrefix(m, telemetry) })
	assert.Equal(t, []string{
		telemetry + "auto/sdk", // what the API links of itself, as well as the logs
		telemetry + "otel",
		telemetry + "otel/log",
		telemetry + "otel/metric",
		telemetry + "otel/trace",
	}, linked)
}

func TestRootModuleKnowsNothingOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../go.mod", "../go.sum"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotEmpty(t, text)
		assert.NotContains(t, string(text), "go.opentelemetry.io", file)
	}
}

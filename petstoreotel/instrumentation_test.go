package petstoreotel_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestNewLeavesTheMeterWhenNoClientIsLeft(t *testing.T) {
	t.Parallel()
	meters := &watchedProvider{}
	meters.unregistered.Store(-1)
	s := newHarness(t)
	client := s.bareClient(s.base(), petstoreotel.New(petstoreotel.WithMeterProvider(meters)))
	_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	runtime.GC()
	assert.EqualValues(t, -1, meters.unregistered.Load())
	runtime.KeepAlive(client)
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		runtime.GC()
		assert.Zero(c, meters.unregistered.Load())
	}, 10*time.Second, time.Millisecond)
}

// watchedProvider counts how often a callback was unregistered, from -1.
type watchedProvider struct {
	noop.MeterProvider
	unregistered atomic.Int64
}

func (p *watchedProvider) Meter(string, ...metric.MeterOption) metric.Meter {
	return watchedMeter{provider: p}
}

type watchedMeter struct {
	noop.Meter
	provider *watchedProvider
}

func (m watchedMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return registration{provider: m.provider}, nil
}

type registration struct {
	noop.Registration
	provider *watchedProvider
}

func (r registration) Unregister() error {
	r.provider.unregistered.Add(1)
	return nil
}

func TestNewReportsAnInstrumentThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []string
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported = append(reported, err.Error()) }))
		for _, refused := range []string{
			"http.client.request.duration", petstoreotel.MetricCallDuration, petstoreotel.MetricWaitTime,
			petstoreotel.MetricWaitingCalls, petstoreotel.MetricWaitsGivenUp, petstoreotel.MetricLimit, "callback",
		} {
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
	noop.MeterProvider
	refused string
}

func (p refusingProvider) Meter(string, ...metric.MeterOption) metric.Meter {
	return refusingMeter{refused: p.refused}
}

type refusingMeter struct {
	noop.Meter
	refused string
}

func (m refusingMeter) refuses(name string) error {
	if name == m.refused {
		return errors.New("no " + name)
	}
	return nil
}

func (m refusingMeter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	if err := m.refuses(name); err != nil {
		return nil, err
	}
	return noop.Float64Histogram{}, nil
}

func (m refusingMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, m.refuses(name)
}

func (m refusingMeter) Int64UpDownCounter(name string, _ ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	return nil, m.refuses(name)
}

func (m refusingMeter) Int64ObservableGauge(name string, _ ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return noop.Int64ObservableGauge{}, m.refuses(name)
}

func (m refusingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, m.refuses("callback")
}

func TestOptionsAreValues(t *testing.T) {
	providers := func() petstoreotel.Option { return petstoreotel.WithMeterProvider(noop.NewMeterProvider()) }
	for want, o := range map[string]func() petstoreotel.Option{
		"WithMeterProvider(noop.MeterProvider)": providers, "WithCallsOnly()": petstoreotel.WithCallsOnly,
		"WithTracerProvider(<nil>)": func() petstoreotel.Option { return petstoreotel.WithTracerProvider(nil) },
	} {
		assert.Equal(t, want, o().String())
		assert.True(t, o() == o(), want) //nolint:testifylint // it is about ==
	}
	// An empty composite propagator is a slice, which cannot be compared.
	o := petstoreotel.WithPropagators(propagation.NewCompositeTextMapPropagator())
	assert.True(t, o == o) //nolint:gocritic,testifylint // some values panic
	once := petstoreotel.New()
	assert.True(t, once == once) //nolint:gocritic,testifylint // as above
}

package petstoreotel_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
	"github.com/petstore/petstore-go/petstoreotel"
)

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
				synctest.Test(t, func(t *testing.T) {
					s := newHarness(t)
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
	s.opts = append(s.opts, petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(starting(func(name string) {
			if name == "POST /v1/pets" {
				cancel()
			}
		})))))
	client, err := petstore.NewClient(s.server.URL(), s.server.APIKey(), petstoreotel.New(s.opts...))
	require.NoError(t, err)
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Rex"})
	require.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
	assert.Empty(t, s.server.Requests())
}

// starting is called with the name of each span that starts.
type starting func(string)

func (f starting) OnStart(_ context.Context, span sdktrace.ReadWriteSpan) { f(span.Name()) }
func (starting) OnEnd(sdktrace.ReadOnlySpan)                              {}
func (starting) Shutdown(context.Context) error                           { return nil }
func (starting) ForceFlush(context.Context) error                         { return nil }

func TestTransportWritesAndDialsAsAnyOtherWrapper(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	dials, writes := s.connections(petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
		return wrapper{base}
	}))
	recordedDials, recordedWrites := s.connections(petstoreotel.New(s.opts...))
	assert.EqualValues(t, 1, recordedDials)
	assert.Equal(t, dials, recordedDials)
	assert.Equal(t, writes, recordedWrites)
}

// wrapper is a transport that does nothing but send.
type wrapper struct{ http.RoundTripper }

func (w wrapper) Unwrap() http.RoundTripper { return w.RoundTripper }

// connections makes some creates, and returns how often their client dialled and wrote.
func (s *harness) connections(opts ...petstore.Option) (dials, writes int64) {
	s.t.Helper()
	var dialled, wrote atomic.Int64
	base := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled.Add(1)
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return countedConn{conn, &wrote}, err
	}}
	defer base.CloseIdleConnections()
	client, err := petstore.NewClient(s.server.URL(), s.server.APIKey(),
		append(opts, petstore.WithHTTPClient(&http.Client{Transport: base}))...)
	require.NoError(s.t, err)
	s.server.Inject(fake.Fault{Status: 400, Skip: 1})
	before := len(s.server.Pets())

	const calls = 5
	for range calls {
		_, _ = client.CreatePet(s.t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
	}
	assert.Len(s.t, s.server.Pets(), before+calls-1)
	return dialled.Load(), wrote.Load()
}

type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

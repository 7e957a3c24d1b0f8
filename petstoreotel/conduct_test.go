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
	"github.com/petstore/petstore-go/petstoreotel"
)

// outcome is what a caller and the service see of a call.
type outcome struct {
	Error    string
	Unknown  bool
	Requests int
	Pets     int
}

func TestTheOutcomeOfACallIsTheSameWithAndWithoutTheTransport(t *testing.T) {
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
					s := newStation(t)
					bare := s.newClient(s.server.HTTPClient().Transport)
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
	for _, wire := range []fake.Wire{
		fake.WireReset, fake.WireClose, fake.WireTruncate, fake.WireGarbage, fake.WireStall, fake.WireDrip, fake.WireRefuse,
	} {
		all[wire.String()] = fake.Fault{Wire: wire}
		all[wire.String()+" for ever"] = fake.Fault{Wire: wire, Times: fake.Forever}
		if wire != fake.WireRefuse {
			all[wire.String()+" after commit"] = fake.Fault{Wire: wire, AfterCommit: true}
		}
	}
	return all
}

func (s *station) outcome(
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

func TestARequestThatWasNeverWrittenIsNoUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.opts = append(s.opts, petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(starting(func(name string) {
			if name == "POST /v1/pets" {
				cancel()
			}
		})))))
	client, err := petstore.NewClient(s.server.URL(), s.server.APIKey(), petstore.WithHTTPClient(
		&http.Client{Transport: petstoreotel.NewTransport(new(http.Transport), s.opts...)}))
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

func TestACreateIsOneWriteOnAConnectionThatIsKept(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	var dials, writes atomic.Int64
	base := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return countedConn{conn, &writes}, err
	}}
	defer base.CloseIdleConnections()
	client, err := petstore.NewClient(s.server.URL(), s.server.APIKey(), petstore.WithHTTPClient(
		&http.Client{Transport: petstoreotel.NewTransport(base, s.opts...)}))
	require.NoError(t, err)
	s.server.Inject(fake.Fault{Status: 400, Skip: 1})

	const calls = 5
	for range calls {
		_, _ = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
	}
	assert.Len(t, s.server.Pets(), calls-1)
	assert.EqualValues(t, calls, writes.Load())
	assert.EqualValues(t, 1, dials.Load())
}

type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

package petstoreotel_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestSpans_retry(t *testing.T) {
	recorded(t, func(h *harness) {
		h.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		require.NoError(h, create(h.Context(), h.client(h.option())))
		const request = "petstore.operation=createPet,@,url.full=https://service.test/v1/pets,url.template=/v1/pets"
		assert.Equal(h, []string{
			"client POST /v1/pets failed 200ms error.type=429,http.request.method=POST,http.response.status_code=429," + request,
			"client POST /v1/pets ok 200ms http.request.method=POST,http.request.resend_count=1,http.response.status_code=201," + request,
			"internal createPet ok 3.4s http.request.method=POST,petstore.attempts=2,petstore.operation=createPet,@,url.template=/v1/pets" +
				" + petstore.wait petstore.wait.duration=3,petstore.wait.reason=minute,petstore.wait.waiting_calls=1",
		}, h.ended())
		spans := h.spans.Ended()
		assert.False(h, spans[2].Parent().IsValid())
		assert.Equal(h, spans[0].EndTime(), spans[2].Events()[0].Time, "the wait begins after the request")
		for i, request := range spans[:2] {
			assert.Equal(h, spans[2].SpanContext().SpanID(), request.Parent().SpanID())
			c, sent := request.SpanContext(), h.server.Requests()[i].Header
			assert.Equal(h, fmt.Sprintf("00-%s-%s-01", c.TraceID(), c.SpanID()), sent.Get("Traceparent"))
		}
	}, fake.WithLatency(200*time.Millisecond))
}

func TestSpans_kinds(t *testing.T) {
	recorded(t, func(h *harness) {
		client := h.client(h.option())
		_, err := client.Do(h.Context(), http.MethodGet, "/pets/5?token=secret", nil, nil)
		require.ErrorIs(h, err, petstore.ErrNotFound)
		h.server.Inject(fake.Fault{Drip: 5 * time.Second})
		require.NoError(h, list(h.Context(), client))
		h.server.Inject(fake.Fault{Wire: fake.WireReset})
		require.ErrorIs(h, create(h.Context(), client), petstore.ErrOutcomeUnknown)
		for i, part := range []string{
			",url.full=https://service.test/v1/{path},url.template=/v1/{path}", // the path of Do is not recorded
			"internal do GET failed 0s error.type=404,",
			"client GET /v1/pets ok 5s", // until the response has been read
			"internal listPets ok 5s",
			"client POST /v1/pets failed 0s error.type=connection_reset,http.request.method=POST,petstore.operation=",
			",petstore.operation=createPet,petstore.outcome_unknown=true,@",
		} {
			assert.Contains(h, h.ended()[i], part)
		}
	}, fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))
}

// TestSpans_callersTrace checks that a call belongs to the trace of its caller, and has the call_id
// of the log.
func TestSpans_callersTrace(t *testing.T) {
	recorded(t, func(h *harness) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		ctx, caller := sdktrace.NewTracerProvider().Tracer("caller").Start(h.Context(), "caller")
		require.NoError(h, list(ctx, h.client(h.option(), petstore.WithLogger(logger))))
		spans := h.spans.Ended()
		set := attribute.NewSet(spans[1].Attributes()...)
		id, _ := set.Value("petstore.call.id")
		assert.Contains(h, log.String(), "call_id="+id.AsString()+" ")
		assert.Equal(h, caller.SpanContext().SpanID(), spans[1].Parent().SpanID())
		assert.Equal(h, caller.SpanContext().TraceID(), spans[0].SpanContext().TraceID())
	})
}

// roundTripper is a transport of the user.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestNew_orderOfOptions has a WithTransport that needs the client's own *http.Transport, and sees
// the span.
func TestNew_orderOfOptions(t *testing.T) {
	recorded(t, func(h *harness) {
		var seen []trace.SpanContext
		clone := petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
			assert.IsType(h, new(http.Transport), base)
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				seen = append(seen, trace.SpanContextFromContext(req.Context()))
				return h.server.HTTPClient().Transport.RoundTrip(req)
			})
		})
		for i, opts := range [][]petstore.Option{{clone, h.option()}, {h.option(), clone}} {
			h.spans.Reset()
			client, err := petstore.NewClient("https://service.test/v1", h.server.APIKey(), opts...)
			require.NoError(h, err)
			require.NoError(h, list(h.Context(), client))
			require.Len(h, h.ended(), 2)
			assert.Equal(h, h.spans.Ended()[0].SpanContext().SpanID(), seen[i].SpanID())
			assert.Contains(h, h.server.Requests()[i].Header.Get("Traceparent"), seen[i].SpanID().String())
		}
	})
}

func TestWithPropagators(t *testing.T) {
	recorded(t, func(h *harness) {
		member, err := baggage.NewMember("user", "4711")
		require.NoError(h, err)
		bag, err := baggage.New(member)
		require.NoError(h, err)
		for i, p := range []propagation.TextMapPropagator{propagation.Baggage{}, propagation.NewCompositeTextMapPropagator()} {
			client := h.client(petstoreotel.New(petstoreotel.WithPropagators(p)))
			require.NoError(h, list(baggage.ContextWithBaggage(h.Context(), bag), client))
			sent := h.server.Requests()[i].Header
			assert.Equal(h, []string{"user=4711", ""}[i], sent.Get("Baggage"))
			assert.Empty(h, sent.Get("Traceparent"))
		}
	})
}

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

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestSpans_retry(t *testing.T) {
	recorded(t, func(h *harness) {
		h.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		time.AfterFunc(2*time.Second, func() {
			assert.Equal(h, map[string]float64{"@": 1}, h.values("rate_limit.waiting_calls"))
		})
		require.NoError(h, create(h.Context(), h.client(h.option())))
		const request = "petstore.operation=createPet,@,url.full=https://service.test/v1/pets,url.template=/v1/pets"
		assert.Equal(h, []string{
			"client POST /v1/pets failed 200ms error.type=429,http.request.method=POST,http.response.status_code=429," + request,
			"client POST /v1/pets ok 200ms http.request.method=POST,http.request.resend_count=1,http.response.status_code=201," + request,
			"internal createPet ok 3.4s http.request.method=POST,petstore.attempts=2,petstore.operation=createPet,@,url.template=/v1/pets" +
				" + petstore.wait petstore.wait.duration=3,petstore.wait.reason=minute,petstore.wait.waiting_calls=1",
		}, h.ended())
		assert.Equal(h, map[string]float64{"@": 0}, h.values("rate_limit.waiting_calls"))
		assert.Equal(h, durations(3, "petstore.wait.reason=minute,@"), h.values("rate_limit.wait_time"))
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

// TestSpans_callersTrace checks that a call belongs to the trace of its caller, has the call_id of
// the log, and does not count a backoff as a wait for the limit.
func TestSpans_callersTrace(t *testing.T) {
	recorded(t, func(h *harness) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		h.server.Inject(fake.Fault{Status: 503})
		ctx, caller := sdktrace.NewTracerProvider().Tracer("caller").Start(h.Context(), "caller")
		require.NoError(h, list(ctx, h.client(h.option(), petstore.WithLogger(logger))))
		spans := h.spans.Ended()
		set := attribute.NewSet(spans[2].Attributes()...)
		id, _ := set.Value("petstore.call.id")
		assert.Contains(h, log.String(), "call_id="+id.AsString()+" ")
		assert.Equal(h, caller.SpanContext().SpanID(), spans[2].Parent().SpanID())
		assert.Equal(h, caller.SpanContext().TraceID(), spans[0].SpanContext().TraceID())
		assert.Contains(h, h.ended()[2], "petstore.wait.reason=backoff")
		assert.Empty(h, h.values("rate_limit.wait_time"))
	})
}

func TestWithPropagators(t *testing.T) {
	recorded(t, func(h *harness) {
		member, err := baggage.NewMember("user", "4711")
		require.NoError(h, err)
		bag, err := baggage.New(member)
		require.NoError(h, err)
		client := h.client(h.option(petstoreotel.WithPropagators(propagation.Baggage{})))
		require.NoError(h, list(baggage.ContextWithBaggage(h.Context(), bag), client))
		sent := h.server.Requests()[0].Header
		assert.Equal(h, "user=4711", sent.Get("Baggage"))
		assert.Empty(h, sent.Get("Traceparent"))
	})
}

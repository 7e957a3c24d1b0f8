package petstoreotel_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestSpans(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		s.create(nil)
		assert.Equal(t, []string{
			"client POST /v1/pets failed 200ms error.type=429,http.request.method=POST,http.response.status_code=429," +
				"petstore.operation=createPet,@,url.full=https://service.test/v1/pets,url.template=/v1/pets",
			"client POST /v1/pets ok 200ms http.request.method=POST,http.request.resend_count=1,http.response.status_code=201," +
				"petstore.operation=createPet,@,url.full=https://service.test/v1/pets,url.template=/v1/pets",
			"internal createPet ok 3.4s http.request.method=POST,http.response.status_code=201," +
				"petstore.attempts=2,petstore.operation=createPet,@,url.template=/v1/pets" +
				" + petstore.wait petstore.wait.duration=3,petstore.wait.reason=minute,petstore.wait.waiting_calls=1",
		}, s.ended())
		spans := s.spans.Ended()
		assert.False(t, spans[2].Parent().IsValid())
		assert.Equal(t, spans[0].EndTime(), spans[2].Events()[0].Time, "the wait begins after the request")
		for i, request := range spans[:2] {
			assert.Equal(t, spans[2].SpanContext().SpanID(), request.Parent().SpanID())
			c, sent := request.SpanContext(), s.server.Requests()[i].Header
			assert.Equal(t, fmt.Sprintf("00-%s-%s-01", c.TraceID(), c.SpanID()), sent.Get("Traceparent"))
		}
	}, fake.WithLatency(200*time.Millisecond))
}

func TestSpansOfOneCall(t *testing.T) {
	for name, test := range map[string]struct {
		faults []fake.Fault
		call   func(ctx context.Context, c *petstore.Client) error
		want   []string // parts of each span
	}{
		"the path of Do is not recorded": {
			call: func(ctx context.Context, c *petstore.Client) error {
				_, err := c.Do(ctx, http.MethodGet, "/pets/5?token=secret", nil, nil)
				return err
			},
			want: []string{
				"client GET /v1/{path} failed 0s error.type=404,http.request.method=GET,http.response.status_code=404," +
					"petstore.operation=do GET,@,url.full=https://service.test/v1/{path},url.template=/v1/{path}",
				"internal do GET failed 0s error.type=404,",
			},
		},
		"a wait after a failure": {
			faults: []fake.Fault{{Status: 503}},
			call:   listOnce,
			want:   []string{"client GET /v1/pets failed 0s error.type=503,", "client GET", " + petstore.wait petstore.wait.duration="},
		},
		"a request lasts until its response has been read": {
			faults: []fake.Fault{{Drip: 5 * time.Second}},
			call:   listOnce,
			want:   []string{"client GET /v1/pets ok 5s", "internal listPets ok 5s"},
		},
		"an unknown outcome": {
			faults: []fake.Fault{{Wire: fake.WireReset}},
			call: func(ctx context.Context, c *petstore.Client) error {
				_, err := c.CreatePet(ctx, petstore.NewPet{Name: "Rex"})
				return err
			},
			want: []string{
				"client POST /v1/pets failed 0s error.type=connection_reset,http.request.method=POST,petstore.operation=",
				",petstore.operation=createPet,petstore.outcome_unknown=true,@",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorded(t, func(t *testing.T, s *harness) {
				for _, fault := range test.faults {
					s.server.Inject(fault)
				}
				_ = test.call(t.Context(), s.client)
				spans := s.ended()
				require.Len(t, spans, len(test.want))
				for i, part := range test.want {
					assert.Contains(t, spans[i], part)
				}
			}, fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))
		})
	}
}

func listOnce(ctx context.Context, c *petstore.Client) error {
	_, err := c.ListPets(ctx, petstore.ListPetsParams{})
	return err
}

func TestSpanHasTheServerOfTheBaseURL(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		client, err := petstore.NewClient("https://[2001:db8::1]:8443/v1", s.server.APIKey(),
			petstoreotel.New(s.opts...), petstore.WithHTTPClient(s.server.HTTPClient()))
		require.NoError(t, err)
		s.list(client, nil)
		assert.Contains(t, s.ended()[0], ",server.address=2001:db8::1,server.port=8443,")
	})
}

func TestSpanHasTheCallIDOfTheLogAndIsPartOfTheCallersTrace(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		ctx, caller := sdktrace.NewTracerProvider().Tracer("caller").Start(t.Context(), "caller")
		require.NoError(t, listOnce(ctx, s.newClient(petstore.WithLogger(logger))))
		spans := s.spans.Ended()
		for _, kv := range spans[1].Attributes() {
			assert.True(t, kv.Key != "petstore.call.id" || strings.Contains(log.String(), "call_id="+kv.Value.String()+" "))
		}
		assert.Contains(t, fmt.Sprint(spans[1].Attributes()), "petstore.call.id")
		assert.Equal(t, caller.SpanContext().SpanID(), spans[1].Parent().SpanID())
		assert.Equal(t, caller.SpanContext().TraceID(), spans[0].SpanContext().TraceID())
	})
}

// TestTransportsAround has a transport above the recorded one, which logs in first and sends each
// request twice.
func TestTransportsAround(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.newClient(petstore.WithTransport(func(below http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				login, err := http.NewRequestWithContext(req.Context(), http.MethodGet, "https://login.test/token", http.NoBody)
				require.NoError(t, err)
				for _, first := range []*http.Request{login, req} {
					resp, err := below.RoundTrip(first)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
				}
				return below.RoundTrip(req)
			})
		})), nil)
		spans := s.ended()
		require.Len(t, spans, 3, "the login is not the call's")
		assert.NotContains(t, spans[0], "http.response.status_code")
		assert.Contains(t, spans[1], "http.response.status_code=200")
		assert.Len(t, s.of("http.client.request.duration"), 1)
	})
}

func TestNewKeepsManyCallsApart(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 503, Chance: 0.2, Times: fake.Forever})
		const callers = 100
		var all sync.WaitGroup
		for range callers {
			all.Go(func() { _ = listOnce(t.Context(), s.client) })
		}
		all.Wait()
		requests := make(map[trace.SpanID]int) // by call
		for _, span := range s.spans.Ended() {
			requests[span.Parent().SpanID()]++
		}
		assert.Equal(t, callers, requests[trace.SpanID{}], "calls have no parent")
		assert.Len(t, requests, 1+callers)
		assert.Len(t, s.ended(), callers+len(s.server.Requests()))
	}, fake.WithPlan(fake.PlanFree), fake.WithSeed(1))
}

func TestPanicLeavesNoSpanOpen(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		client := s.newClient(petstore.WithHTTPClient(&http.Client{Transport: roundTripper(
			func(*http.Request) (*http.Response, error) { panic("out of order") })}))
		assert.PanicsWithValue(t, "out of order", func() { s.list(client, nil) })
		require.Len(t, s.ended(), 2)
		for _, span := range s.ended() {
			assert.Contains(t, span, "failed 0s error.type=_OTHER,")
		}
	})
}

func TestTraceThatDropsTheContextOfTheCall(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.newClient(petstore.WithTrace(&petstore.ClientTrace{
			CallStart: func(context.Context, petstore.Call) context.Context { return t.Context() },
		})), nil)
		assert.Len(t, s.of("call.duration"), 1)
	})
}

package petstoreotel_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestRequestCarriesTheContextOfItsOwnSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		s.server.Inject(fake.Fault{Status: 503})
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)

		requests, spans := s.server.Requests(), s.ended()
		require.Len(t, requests, 2)
		for i, request := range requests {
			c := spans[i].SpanContext()
			assert.Equal(t, fmt.Sprintf("00-%s-%s-01", c.TraceID(), c.SpanID()), request.Header.Get("Traceparent"))
		}
	})
}

func TestRequestSpanOfNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		hc := &http.Client{Transport: s.transport()}
		get := func(method string) {
			req, err := http.NewRequestWithContext(t.Context(), method,
				"http://user:secret@service.test:8080/v1/pets/4711?status=sold", http.NoBody)
			require.NoError(t, err)
			resp, err := hc.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
		get(http.MethodDelete)
		get("ADOPT")

		spans := s.ended()
		require.Len(t, spans, 2)
		common := []attribute.KeyValue{
			semconv.ServerAddress("service.test"), semconv.ServerPort(8080), semconv.URLScheme("http"),
			semconv.HTTPResponseStatusCode(401), semconv.ErrorTypeKey.String("401"),
			semconv.NetworkProtocolVersion("1.1"), semconv.URLFull("http://service.test:8080/REDACTED"),
		}
		assert.Equal(t, "DELETE", spans[0].Name())
		assert.Equal(t, attribute.NewSet(append(common, semconv.HTTPRequestMethodDelete)...), set(spans[0]))
		assert.Equal(t, "HTTP", spans[1].Name())
		assert.Equal(t, attribute.NewSet(append(common, semconv.HTTPRequestMethodOther,
			semconv.HTTPRequestMethodOriginal("ADOPT"))...), set(spans[1]))
		assert.Nil(t, s.metric(petstoreotel.MetricWaitTime))
	})
}

func TestRequestSpanHasTheFullURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 7, Status: petstore.PetStatusSold})
		require.NoError(t, err)
		_, err = s.client.GetPet(t.Context(), -4711) //nolint:staticcheck // the operation with an id in its path
		require.ErrorIs(t, err, petstore.ErrNotFound)
		spans := s.ended()
		assert.Equal(t, "https://service.test/v1/pets?limit=7&status=sold", value(spans[0], semconv.URLFullKey))
		assert.Equal(t, "https://service.test/v1/pets/-4711", value(spans[2], semconv.URLFullKey))
		assert.Equal(t, "/v1/pets/{petId}", value(spans[2], semconv.URLTemplateKey))
		for _, call := range []sdktrace.ReadOnlySpan{spans[1], spans[3]} {
			assert.Empty(t, value(call, semconv.URLFullKey))
		}
	})
}

func TestServerIsThatOfTheURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url, address string
		port         int
	}{
		{"https://petstore.example.com/v1/pets", "petstore.example.com", 443},
		{"http://localhost/v1/pets", "localhost", 80},
		{"http://127.0.0.1:4010/v1/pets", "127.0.0.1", 4010},
		{"https://[2001:db8::1]/v1/pets", "2001:db8::1", 443},
		{"https://[2001:db8::1]:8443/v1/pets", "2001:db8::1", 8443},
	} {
		t.Run(c.url, func(t *testing.T) {
			t.Parallel()
			s := newHarness(t)
			rt := petstoreotel.NewTransport(roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK}, nil
			}), s.opts...)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, http.NoBody)
			require.NoError(t, err)
			_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
			require.NoError(t, err)
			span := s.ended()[0]
			assert.Equal(t, c.address, value(span, semconv.ServerAddressKey))
			assert.Equal(t, strconv.Itoa(c.port), value(span, semconv.ServerPortKey))
			assert.Empty(t, value(span, semconv.NetworkProtocolVersionKey), "the transport did not say")
		})
	}
}

func TestRequestSpanLastsUntilTheResponseHasBeenRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t, fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))
		s.server.Inject(fake.Fault{Wire: fake.WireDrip}) // a byte each 100 ms
		result, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		require.Len(t, result.Pets, 1)

		request := s.ended()[0]
		assert.Greater(t, lasted(request), 3*time.Second)
		for _, p := range s.durations() {
			assert.InDelta(t, lasted(request).Seconds(), p.Sum, 0, "the metric is the span's duration")
		}
	})
}

func TestRequestSpanEndsWithAHeaderWithoutABody(t *testing.T) {
	t.Parallel()
	connection := new(upgraded)
	for name, resp := range map[string]*http.Response{
		"nil":      {StatusCode: http.StatusNoContent},
		"NoBody":   {StatusCode: http.StatusNoContent, Body: http.NoBody},
		"upgraded": {StatusCode: http.StatusSwitchingProtocols, Body: connection},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newHarness(t)
			body := resp.Body
			rt := petstoreotel.NewTransport(roundTripper(func(*http.Request) (*http.Response, error) {
				return resp, nil
			}), s.opts...)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://service.test/", http.NoBody)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req) //nolint:bodyclose // nothing behind it
			require.NoError(t, err)
			assert.Len(t, s.ended(), 1)
			assert.Equal(t, body, resp.Body)
		})
	}
}

// upgraded is a connection that is no longer HTTP.
type upgraded struct{ io.ReadWriteCloser }

func TestRequestSpanEndsWhenAResponseIsClosedUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		resp, err := (&http.Client{Transport: s.transport()}).Get("https://service.test/v1/pets")
		require.NoError(t, err)
		assert.Empty(t, s.spans.Ended())
		time.Sleep(time.Second)
		require.NoError(t, resp.Body.Close())
		require.NoError(t, resp.Body.Close())
		require.Len(t, s.ended(), 1)
		assert.Equal(t, time.Second, lasted(s.ended()[0]))
	})
}

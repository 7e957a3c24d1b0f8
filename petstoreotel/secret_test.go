package petstoreotel_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestExportedBytesHoldNothingSecret(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		spans, metrics := s.export(s.callsWithSecrets)
		assert.Greater(t, bytes.Count(spans, []byte("error.type")), 4)
		assert.Contains(t, string(spans), "petstore.wait")
		assert.Positive(t, bytes.Count(metrics, []byte(metricClosedUntil)))
		for _, secret := range []string{
			fake.DefaultAPIKey, "Confidentia", "Discretia", "991775555", "991885555", "tenant-header", "Bearer", "elsewhere",
			"petstore-go/" + petstore.Version, "key=",
		} {
			assert.NotContains(t, string(spans), secret)
			assert.NotContains(t, string(metrics), secret)
		}
		for _, tooMany := range []string{"5550123", "limit=", "=pending", "REDACTED"} { // for a metric to have
			assert.Contains(t, string(spans), tooMany)
			assert.NotContains(t, string(metrics), tooMany)
		}
	}, fake.WithPets(petstore.NewPet{Name: "Confidentia", CategoryID: 991775555}))
}

// export returns all bytes that are exported about calls.
func (s *harness) export(calls func()) (spans, metrics []byte) {
	s.t.Helper()
	var spanBytes, metricBytes bytes.Buffer
	toSpans, err := stdouttrace.New(stdouttrace.WithWriter(&spanBytes))
	require.NoError(s.t, err)
	toMetrics, err := stdoutmetric.New(stdoutmetric.WithWriter(&metricBytes))
	require.NoError(s.t, err)
	s.opts = append(s.opts,
		petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(toSpans))))
	calls()

	var all metricdata.ResourceMetrics
	require.NoError(s.t, s.reader.Collect(s.t.Context(), &all))
	require.NoError(s.t, toMetrics.Export(s.t.Context(), &all))
	return spanBytes.Bytes(), metricBytes.Bytes()
}

// callsWithSecrets makes calls that have secrets in every place that there is.
func (s *harness) callsWithSecrets() {
	s.t.Helper()
	ctx, key := s.t.Context(), s.server.APIKey()
	client := s.newClient(s.base())
	_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 73, Status: petstore.PetStatusPending})
	require.NoError(s.t, err)
	_, err = client.GetPet(ctx, 5550123, petstore.WithHeader("X-Tenant", "tenant-header")) //nolint:staticcheck // the operation with an id in its path
	require.ErrorIs(s.t, err, petstore.ErrNotFound)
	s.server.Inject(fake.Fault{Status: 400, Code: key, Message: "the key " + key, Header: http.Header{
		"X-Echo": {key}, "X-Request-Id": {key}, "Location": {"https://elsewhere.test/?key=" + key},
	}})
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Discretia", CategoryID: 991885555})
	require.Error(s.t, err)

	leaking := roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("GET https://service.test/v1/pets/5550123?limit=73 with Bearer " + key)
	})
	_, err = s.newClient(leaking).GetPet(ctx, 5550123) //nolint:staticcheck // the operation with an id in its path
	require.Error(s.t, err)
	_, err = (&http.Client{Transport: petstoreotel.NewTransport(leaking, s.opts...)}).Get( //nolint:bodyclose // it fails
		"https://" + key + ":" + key + "@service.test/" + key + "?limit=73&key=" + key + "#" + key)
	require.Error(s.t, err)
	appending := petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
		inner := petstoreotel.NewTransport(base, s.opts...)
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			req = req.Clone(req.Context())
			req.URL.RawQuery = "key=" + key + "&status=" + key
			return inner.RoundTrip(req)
		})
	})
	_, err = s.bareClient(s.base(), appending).ListPets(ctx, petstore.ListPetsParams{})
	require.ErrorIs(s.t, err, petstore.ErrBadRequest)

	s.server.Inject(fake.Fault{Status: 429, RetryAfter: "9000"})
	_, err = client.CreatePet(ctx, petstore.NewPet{Name: "Discretia", CategoryID: 991885555})
	require.ErrorIs(s.t, err, petstore.ErrRateLimited)
}

// TestHeadersAreNotRead holds that the spans have nothing of a response's header: a service may repeat
// the key in any, and only the client removes it. A ClientTrace gets what it has removed it from.
func TestHeadersAreNotRead(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	read := regexp.MustCompile(`(?i)\b(res|resp|response)\.(Header|Trailer)\b`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(file, "_test.go") || !read.Match(text), "%s reads the header of a response", file)
	}
}

// TestDrawnKeysAreInNoRecord draws keys, which a service repeats in one or two escapes, and looks for
// 8 characters of them in the exported spans and metrics, and in the journal and the archive of the
// fake. FuzzResponse of the client looks into errors.
func TestDrawnKeysAreInNoRecord(t *testing.T) {
	count, err := strconv.ParseUint(cmp.Or(os.Getenv("PETSTORE_KEYS"), "100"), 10, 64)
	require.NoError(t, err)
	for seed := range count {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			const alphabet = "BCDGHJKLMNOPQSUVWXYZghjklmnopqrstuvwxyz0123456789-._~+/"
			key := make([]byte, 12+rng.IntN(200))
			for i := range key {
				key[i] = alphabet[rng.IntN(len(alphabet))]
			}
			for how, text := range records(t, string(key), written[rng.IntN(len(written))](written[rng.IntN(len(written))](string(key)))) {
				if how == "journal" || how == "archive" {
					require.Contains(t, text, "[redacted]", how)
				}
				for i := range len(key) - 7 {
					require.NotContains(t, text, string(key[i:i+8]), "seed %d: %s", seed, how)
				}
			}
		})
	}
}

// written are ways in which a service may write a key.
var written = []func(string) string{
	strings.Clone, url.QueryEscape, url.PathEscape, html.EscapeString, strings.NewReplacer("/", `\/`).Replace,
	strings.NewReplacer("+", `\u002b`, ".", `\u002e`).Replace, strings.NewReplacer("-", "%2d", "_", "%5F", "~", "%7E").Replace,
}

// records makes calls whose request and response have echo in them, and returns all that was
// recorded, by name.
func records(t *testing.T, key, echo string) map[string]string {
	t.Helper()
	s := newHarness(t, fake.WithKey(key, fake.PlanFree))
	var archive bytes.Buffer
	spans, metrics := s.export(func() {
		through := func(base http.RoundTripper) *petstore.Client {
			client, err := petstore.NewClient("https://service.test/v1", key, petstoreotel.New(s.opts...),
				petstore.WithHTTPClient(&http.Client{Transport: base}), petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
			require.NoError(t, err)
			return client
		}
		client := through(s.base())
		s.server.Inject(fake.Fault{Status: 400, Code: echo, Message: "no key " + echo, Header: http.Header{"X-Echo": {echo}}})
		_, err := client.CreatePet(t.Context(), petstore.NewPet{Name: echo})
		require.Error(t, err)
		s.server.Inject(fake.Fault{Status: 503, Body: []byte("<html>" + echo)})
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithHeader("X-Echo", echo))
		require.Error(t, err)
		leaking := roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("cannot send " + echo) })
		_, err = through(leaking).CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
		require.Error(t, err)
	})
	requests := s.server.Requests()
	require.NoError(t, fakecontrol.Of(s.server).WriteHAR(&archive, "https://service.test", slices.Values(requests)))
	return map[string]string{
		"spans": string(spans), "metrics": string(metrics), "journal": fmt.Sprintf("%+v %[1]s", requests), "archive": archive.String(),
	}
}

func attributesOf(data metricdata.Aggregation) map[attribute.Set]bool {
	sets := make(map[attribute.Set]bool)
	for set := range integers(data) {
		sets[set] = true
	}
	switch data := data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			sets[p.Attributes] = true
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			sets[p.Attributes] = true
		}
	}
	return sets
}

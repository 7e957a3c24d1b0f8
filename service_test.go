package petstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/loopback"
)

const testKey = "test-key-9d8f7a"

// responder returns the response to a request, or an error instead. It is a transport by itself.
type responder func(*http.Request) (*http.Response, error)

func (f responder) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// service is a transport that uses its responders one after the other, the last one for all further
// requests, and records the requests. Tests that need bytes on a connection use replay or httptest
// instead.
type service struct {
	responders []responder

	mu       sync.Mutex
	requests []recorded
}

// recorded is a request that a service got.
type recorded struct {
	at            time.Time
	method, url   string
	header        http.Header
	body          string
	contentLength int64
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	r := recorded{
		at: time.Now(), method: req.Method, url: req.URL.String(), header: req.Header.Clone(),
		contentLength: req.ContentLength,
	}
	if req.GetBody != nil {
		copied, _ := req.GetBody() // a body that was read counts as sent
		b, _ := io.ReadAll(copied)
		r.body = string(b)
	}
	s.mu.Lock()
	s.requests = append(s.requests, r)
	respond := s.responders[min(len(s.requests), len(s.responders))-1]
	s.mu.Unlock()
	return respond(req)
}

func (s *service) sent() []recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// scripted returns a client of a service with these responders. The client has no limiter unless
// opts have one.
func scripted(t *testing.T, responders []responder, opts ...petstore.Option) (*petstore.Client, *service) {
	t.Helper()
	s := &service{responders: responders}
	opts = append([]petstore.Option{
		petstore.WithHTTPClient(&http.Client{Transport: s}),
		petstore.WithLimiter(nil),
	}, opts...)
	client, err := petstore.NewClient("https://service.test/v1", testKey, opts...)
	require.NoError(t, err)
	return client, s
}

// status responds with a status, a body and headers of the form "Key: value". "Key: " removes a
// header.
func status(code int, body string, headers ...string) responder {
	return func(req *http.Request) (*http.Response, error) {
		return response(req, code, strings.NewReader(body), headers...), nil
	}
}

func response(req *http.Request, code int, body io.Reader, headers ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for _, line := range headers {
		key, value, _ := strings.Cut(line, ": ")
		if value == "" {
			h.Del(key)
			continue
		}
		h.Add(key, value)
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(body), ContentLength: -1, Request: req,
	}
}

// fails returns an error instead of a response.
func fails(err error) responder {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// cutOff responds with a body that ends with an error before it is complete.
func cutOff(code int, err error) responder {
	return func(req *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(`[{"id":`), failingReader{func() error { return err }})
		return response(req, code, body), nil
	}
}

type failingReader struct{ err func() error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err() }

// hangs waits until the request's context ends, and returns its error.
func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

const (
	onePet  = `{"id":7,"name":"Rex","categoryId":3,"status":"available"}`
	twoPets = `[` + onePet + `,{"id":8,"name":"Ada","categoryId":0}]`
)

// quota returns the three rate limit headers of a window that ends in d.
func quota(limit, remaining int, d time.Duration) []string {
	return []string{
		"X-RateLimit-Limit: " + strconv.Itoa(limit),
		"X-RateLimit-Remaining: " + strconv.Itoa(remaining),
		"X-RateLimit-Reset: " + strconv.FormatInt(time.Now().Add(d).Unix(), 10),
	}
}

func newPet() petstore.NewPet {
	return petstore.NewPet{Name: "Rex", CategoryID: 3, Status: petstore.PetStatusAvailable}
}

// calls returns the three operations as functions with the same signature.
func calls(client *petstore.Client) map[string]func(t *testing.T, opts ...petstore.CallOption) error {
	return map[string]func(*testing.T, ...petstore.CallOption) error{
		"listPets": func(t *testing.T, opts ...petstore.CallOption) error {
			r, err := client.ListPets(t.Context(), petstore.ListPetsParams{}, opts...)
			require.Equal(t, err == nil, r != nil, "either a result or an error")
			return err
		},
		"createPet": func(t *testing.T, opts ...petstore.CallOption) error {
			r, err := client.CreatePet(t.Context(), newPet(), opts...)
			require.Equal(t, err == nil, r != nil, "either a result or an error")
			return err
		},
		"getPet": func(t *testing.T, opts ...petstore.CallOption) error {
			r, err := client.GetPet(t.Context(), 7, opts...)
			require.Equal(t, err == nil, r != nil, "either a result or an error")
			return err
		},
	}
}

// success responds with the documented success of an operation.
func success(operation string, headers ...string) responder {
	switch operation {
	case "listPets":
		return status(http.StatusOK, twoPets, headers...)
	case "createPet":
		return status(http.StatusCreated, onePet, headers...)
	}
	return status(http.StatusOK, onePet, headers...)
}

// dump returns the request as text for a golden file.
func (r recorded) dump() string {
	var b bytes.Buffer
	b.WriteString(r.method + " " + strings.TrimPrefix(r.url, "https://service.test") + "\n")
	_ = r.header.Write(&b)
	b.WriteString("\n" + r.body)
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

func list(c *petstore.Client) error {
	_, err := c.ListPets(context.Background(), petstore.ListPetsParams{Limit: 100})
	return err
}

func create(c *petstore.Client) error {
	_, err := c.CreatePet(context.Background(), newPet())
	return err
}

func get(c *petstore.Client) error {
	_, err := c.GetPet(context.Background(), 7)
	return err
}

// The limiters of these tests, as users of WithLimiter might write them.

// countingLimiter admits all requests immediately and records their outcomes. It is its own permit,
// and is used by one goroutine at a time.
type countingLimiter struct {
	acquired int
	released []petstore.Observation
}

func (l *countingLimiter) Acquire(context.Context, petstore.LimitRequest) (petstore.Permit, error) {
	l.acquired++
	return l, nil
}
func (l *countingLimiter) Release(o petstore.Observation)      { l.released = append(l.released, o) }
func (l *countingLimiter) RateLimit(string) petstore.RateLimit { return petstore.RateLimit{} }

// fixedLimiter returns the same permit and error from each Acquire.
type fixedLimiter struct {
	permit petstore.Permit
	err    error
}

func (l fixedLimiter) Acquire(context.Context, petstore.LimitRequest) (petstore.Permit, error) {
	return l.permit, l.err
}
func (l fixedLimiter) RateLimit(string) petstore.RateLimit { return petstore.RateLimit{} }

// brokenLimiter fails from the second request on.
type brokenLimiter struct {
	petstore.Limiter
	acquired int
}

func (l *brokenLimiter) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	if l.acquired++; l.acquired > 1 {
		return nil, errors.New("the limiter is broken")
	}
	return l.Limiter.Acquire(ctx, r)
}

// slowLimiter takes a time longer than the limiter in it.
type slowLimiter struct {
	petstore.Limiter
	by time.Duration
}

func (l slowLimiter) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	permit, err := l.Limiter.Acquire(ctx, r)
	<-time.After(l.by)
	return permit, err
}

// askingLimiter waits a second before it asks the limiter in it, and records the requests.
type askingLimiter struct {
	petstore.Limiter
	requests []petstore.LimitRequest
}

func (l *askingLimiter) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	l.requests = append(l.requests, r)
	done := r.StartWait(petstore.Wait{Reason: petstore.WaitResponse, Waiting: 7})
	<-time.After(time.Second)
	done(time.Second)
	return l.Limiter.Acquire(ctx, r)
}

// cancelledLimiter asks a limiter with a context of its own, which has ended.
type cancelledLimiter struct{ petstore.Limiter }

func (l cancelledLimiter) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return l.Limiter.Acquire(ctx, r)
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	loopback.SkipExamples()
	goleak.VerifyTestMain(m)
}

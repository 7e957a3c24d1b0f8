package petstore_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/testkit"
)

const testKey = "test-key-9d8f7a"

// responder returns the response to a request, or an error instead. It is also a transport.
type responder func(*http.Request) (*http.Response, error)

func (f responder) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// service records requests. It uses its responders in order, the last one for all further requests.
type service struct {
	responders []responder

	mu       sync.Mutex
	requests []recorded
}

// recorded is a request that a service got.
type recorded struct {
	at                time.Time
	method, url, body string
	header            http.Header
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	r := recorded{at: time.Now(), method: req.Method, url: req.URL.String(), header: req.Header.Clone()}
	if req.Body != nil {
		body, _ := io.ReadAll(req.Body)
		r.body = string(body)
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

// scripted returns a client of a service with these responders.
func scripted(t *testing.T, responders []responder, opts ...petstore.Option) (*petstore.Client, *service) {
	t.Helper()
	s := &service{responders: responders}
	return newClient(t, s, testKey, opts...), s
}

// rotating is like scripted, for a client that gets its keys from a function.
func rotating(
	t *testing.T, key func(context.Context) (string, error), responders []responder, opts ...petstore.Option,
) (*petstore.Client, *service) {
	t.Helper()
	s := &service{responders: responders}
	return newClient(t, s, "", append(opts, petstore.WithAPIKeyFunc(key))...), s
}

// newClient returns a client with a transport, without a limiter unless opts have one.
func newClient(t *testing.T, transport http.RoundTripper, key string, opts ...petstore.Option) *petstore.Client {
	t.Helper()
	opts = append([]petstore.Option{
		petstore.WithHTTPClient(&http.Client{Transport: transport}), petstore.WithLimiter(nil),
	}, opts...)
	client, err := petstore.NewClient("https://service.test/v1", key, opts...)
	require.NoError(t, err)
	return client
}

// status responds with a status, a body and headers of the form "Key: value".
func status(code int, body string, headers ...string) responder {
	return func(req *http.Request) (*http.Response, error) {
		return response(req, code, strings.NewReader(body), headers...), nil
	}
}

func response(req *http.Request, code int, body io.Reader, headers ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for _, line := range headers {
		key, value, _ := strings.Cut(line, ": ")
		h.Set(key, value)
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(body), ContentLength: -1, Request: req,
	}
}

func fails(err error) responder {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// cutOff responds with the start of a body and an error.
func cutOff(start string, code int, err error) responder {
	return func(req *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(start), failingReader(func() error { return err }))
		return response(req, code, body), nil
	}
}

// stalls responds with a body that does not end before the request's context.
func stalls(code int) responder {
	return func(r *http.Request) (*http.Response, error) {
		ctx := r.Context()
		return response(r, code, failingReader(func() error { <-ctx.Done(); return ctx.Err() })), nil
	}
}

// failingReader is a body that has no bytes, but ends with an error.
type failingReader func() error

func (end failingReader) Read([]byte) (int, error) { return 0, end() }

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

// quick is the policy with short pauses.
var quick = petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1})

// callFunc makes a call; list, create and get are such functions.
type callFunc func(*petstore.Client, ...petstore.CallOption) error

// samples has all that the tests need to know about each operation.
var samples = map[string]struct {
	call    callFunc
	success int  // its status
	writes  bool // it must not be repeated
}{
	"listPets":  {call: list, success: 200},
	"createPet": {call: create, success: 201, writes: true},
	"getPet":    {call: get, success: 200},
}

func list(c *petstore.Client, opts ...petstore.CallOption) error {
	return listFor(context.Background(), c, opts...)
}

func create(c *petstore.Client, opts ...petstore.CallOption) error {
	return createFor(context.Background(), c, opts...)
}

func get(c *petstore.Client, opts ...petstore.CallOption) error {
	_, err := c.GetPet(context.Background(), 7, opts...)
	return err
}

// do returns a function that makes a call without a body.
func do(method string) callFunc {
	return func(c *petstore.Client, opts ...petstore.CallOption) error {
		_, err := c.Do(context.Background(), method, "pets/7", nil, nil, opts...)
		return err
	}
}

func listFor(ctx context.Context, c *petstore.Client, opts ...petstore.CallOption) error {
	_, err := c.ListPets(ctx, petstore.ListPetsParams{Limit: 100}, opts...)
	return err
}

func createFor(ctx context.Context, c *petstore.Client, opts ...petstore.CallOption) error {
	_, err := c.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 3, Status: "available"}, opts...)
	return err
}

// as returns the error of type E in err.
func as[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	require.True(t, ok, "%T: %v", err, err)
	return e
}

// virtual runs a subtest in virtual time.
func virtual(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestMain(m *testing.M) {
	testkit.SkipExamples()
	goleak.VerifyTestMain(m)
}

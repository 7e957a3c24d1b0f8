package petstore_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

const testKey = "test-key-9d8f7a"

// answer is one scripted turn of a transport: an answer, or an error instead of one.
type answer func(*http.Request) (*http.Response, error)

// script is a transport that gives its answers in turn, the last for ever, and keeps what it was sent.
type script struct {
	answers []answer

	mu       sync.Mutex
	requests []recorded
}

type recorded struct {
	at            time.Time
	method, url   string
	header        http.Header
	body          string
	contentLength int64
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	r := recorded{
		at: time.Now(), method: req.Method, url: req.URL.String(), header: req.Header.Clone(),
		contentLength: req.ContentLength,
	}
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		_ = req.Body.Close()
		r.body = string(b)
	}
	s.mu.Lock()
	s.requests = append(s.requests, r)
	turn := s.answers[min(len(s.requests), len(s.answers))-1]
	s.mu.Unlock()
	return turn(req)
}

func (s *script) sent() []recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// scripted returns a client, without a limiter unless opts say otherwise, on a script of answers.
func scripted(t *testing.T, answers []answer, opts ...petstore.Option) (*petstore.Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	opts = append([]petstore.Option{
		petstore.WithHTTPClient(&http.Client{Transport: s}),
		petstore.WithLimiter(nil),
	}, opts...)
	client, err := petstore.NewClient("https://service.test/v1", testKey, opts...)
	require.NoError(t, err)
	return client, s
}

// status answers with a status, a body and headers given as "Key: value".
func status(code int, body string, headers ...string) answer {
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

// fails answers with an error.
func fails(err error) answer {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// cutOff answers with a body that ends in an error before it is whole.
func cutOff(code int, err error) answer {
	return func(req *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(`[{"id":`), failingReader{err})
		return response(req, code, body), nil
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// hangs answers when the request's context ends, with its error.
func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

const (
	onePet  = `{"id":7,"name":"Rex","categoryId":3,"status":"available"}`
	twoPets = `[` + onePet + `,{"id":8,"name":"Ada","categoryId":0}]`
)

// quota is the three headers, the window ending in d.
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

// calls are the three operations behind one signature.
func calls(client *petstore.Client) map[string]func(t *testing.T, opts ...petstore.CallOption) error {
	return map[string]func(*testing.T, ...petstore.CallOption) error{
		"listPets": func(t *testing.T, opts ...petstore.CallOption) error {
			r, err := client.ListPets(t.Context(), petstore.ListPetsParams{}, opts...)
			require.Equal(t, err == nil, r != nil, "a result or an error, never both")
			return err
		},
		"createPet": func(t *testing.T, opts ...petstore.CallOption) error {
			r, err := client.CreatePet(t.Context(), newPet(), opts...)
			require.Equal(t, err == nil, r != nil, "a result or an error, never both")
			return err
		},
		"getPet": func(t *testing.T, opts ...petstore.CallOption) error {
			r, err := client.GetPet(t.Context(), 7, opts...)
			require.Equal(t, err == nil, r != nil, "a result or an error, never both")
			return err
		},
	}
}

// success is the documented success of an operation.
func success(operation string, headers ...string) answer {
	switch operation {
	case "listPets":
		return status(http.StatusOK, twoPets, headers...)
	case "createPet":
		return status(http.StatusCreated, onePet, headers...)
	}
	return status(http.StatusOK, onePet, headers...)
}

// dump is a request as a golden text holds it, without the key.
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

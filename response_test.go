package petstore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

// replay is a connection that responds to the first request with given bytes, and then ends.
type replay struct {
	once     sync.Once
	asked    chan struct{}
	response io.Reader
}

// replaying returns a transport whose connections respond with what open returns.
func replaying(open func() io.Reader) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		return &replay{asked: make(chan struct{}), response: open()}, nil
	}}
}

func (r *replay) Read(p []byte) (int, error) {
	<-r.asked // net/http drops bytes that come before a request
	return r.response.Read(p)
}

func (r *replay) Write(p []byte) (int, error) { return len(p), r.Close() }

func (r *replay) Close() error {
	r.once.Do(func() { close(r.asked) })
	return nil
}

func (r *replay) LocalAddr() net.Addr              { return new(net.TCPAddr) }
func (r *replay) RemoteAddr() net.Addr             { return new(net.TCPAddr) }
func (r *replay) SetDeadline(time.Time) error      { return nil }
func (r *replay) SetReadDeadline(time.Time) error  { return nil }
func (r *replay) SetWriteDeadline(time.Time) error { return nil }

// read is a response as net/http reads it.
type read struct {
	response *http.Response // nil if net/http returned an error
	body     []byte
	cut      bool // the body is cut off
}

func gzipped(text string) string {
	var out strings.Builder
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

const responseBound = 64 << 10 // limit for the bodies of this test, in bytes

func readByNetHTTP(t *testing.T, method string, response []byte) read {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://service.test/v1/pets", nil)
	require.NoError(t, err)
	resp, err := replaying(func() io.Reader { return bytes.NewReader(response) }).RoundTrip(req)
	if err != nil {
		return read{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, responseBound+1))
	return read{resp, body, err != nil}
}

// FuzzResponse gives any bytes as the response to a call. The call succeeds if net/http can read
// them as a response, and json/v2 can read its body as the document says. Otherwise it returns one
// of the five errors, on one short line, without the key, which the bytes may contain.
func FuzzResponse(f *testing.F) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, response := range []string{
		"", "\r\n\r\n", "220 mail.test ESMTP\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", head + "\r\n" + twoPets,
		head + "Content-Length: 2\r\n\r\n[]", head + "Content-Length: 9\r\n\r\n[]", head + "Content-Length: 1\r\n\r\n[]",
		head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n[]", head + "Transfer-Encoding: gzip\r\n\r\n[]",
		head + "Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n[]",
		"HTTP/1.1 100 Continue\r\n\r\n" + head + "\r\n[]", "HTTP/1.1 101 Switching Protocols\r\n\r\n[]",
		"HTTP/1.1 000 \r\n\r\n[]", head + "\r\n[\"" + testKey + "\"]",
		"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n\r\n" + onePet,
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: ://" + testKey + "\r\n\r\n",
		"HTTP/1.1 401 " + testKey + "\r\nContent-Type: application/json\r\nX-Echo: Bearer " + testKey +
			"\r\n\r\n{\"code\":\"bad\",\"message\":\"no such key " + testKey + "\",\"status\":401}",
		head + "\r\n{\"id\":{\"" + testKey + "\":1}}", head + "\r\n[{\"" + testKey + "\":1,\"" + testKey + "\":2}]",
		"HTTP/1.1 400 Bad Request\r\n\r\n{\"message\":\"\\u0074est-key-9d8f7a\\n\u202e\"}",
		"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nX-RateLimit-Limit: 60\r\nX-RateLimit-Remaining: 0\r\n" +
			"X-RateLimit-Reset: 1795000000\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n\r\n",
		"HTTP/1.1 503 Service Unavailable\r\n\r\n" + strings.Repeat("x", 5000), "HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.1 999 \u202e\r\n\r\n", "HTTP/1.1 " + testKey + "\r\n\r\n", testKey + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\n" + testKey + " \u202e\x1b[31m\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: " + testKey + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + testKey + "\r\n\r\n", "HTTP/1.1 200 OK\nX: y\n z\n\n[]",
		head + "Content-Encoding: gzip\r\n\r\n" + gzipped(twoPets),
		head + "Content-Encoding: gzip\r\n\r\n" + gzipped(strings.Repeat("\x00", 1<<20)), head + "Content-Encoding: br\r\n\r\n[]",
	} {
		f.Add([]byte(response))
	}
	f.Fuzz(func(t *testing.T, response []byte) {
		client := newClient(t, replaying(func() io.Reader { return bytes.NewReader(response) }), testKey,
			petstore.WithMaxResponseBytes(responseBound), petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
		checkListed(t, client, readByNetHTTP(t, http.MethodGet, response))
		checkCreated(t, client, readByNetHTTP(t, http.MethodPost, response))
	})
}

// acceptable reports whether a response is the documented success, apart from the contents of its
// body.
func (r read) acceptable(code int) bool {
	return r.response != nil && r.response.StatusCode == code && !r.cut && len(r.body) <= responseBound &&
		slices.Contains([]string{"", "identity"}, strings.ToLower(r.response.Header.Get("Content-Encoding"))) &&
		strings.HasPrefix(strings.ToLower(strings.TrimSpace(r.response.Header.Get("Content-Type"))), "application/json")
}

func checkListed(t *testing.T, client *petstore.Client, r read) {
	t.Helper()
	result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	var want []petstore.Pet
	good := r.acceptable(http.StatusOK) && jsonv2.Unmarshal(r.body, &want) == nil
	if err == nil {
		require.True(t, good)
		assert.Equal(t, want, result.Pets)
		return
	}
	assert.Nil(t, result)
	checkResponseError(t, err, r)
	assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
}

func checkCreated(t *testing.T, client *petstore.Client, r read) {
	t.Helper()
	result, err := client.CreatePet(t.Context(), newPet())
	var want petstore.Pet
	good := r.acceptable(http.StatusCreated) && jsonv2.Unmarshal(r.body, &want) == nil
	if err == nil {
		require.True(t, good)
		assert.Equal(t, want, result.Pet)
		return
	}
	assert.Nil(t, result)
	checkResponseError(t, err, r)
	refused := r.response != nil && (r.response.StatusCode/100 == 4 && r.response.StatusCode != http.StatusRequestTimeout ||
		r.response.StatusCode == http.StatusNotImplemented)
	assert.Equal(t, !refused, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
}

// checkResponseError checks that the error agrees with what net/http read, and does not have the
// key.
func checkResponseError(t *testing.T, err error, r read) {
	t.Helper()
	assertShortLine(t, err)
	assert.NotContains(t, err.Error(), testKey)
	if api, ok := errors.AsType[*petstore.APIError](err); ok {
		require.NotNil(t, r.response)
		assert.Equal(t, r.response.StatusCode, api.StatusCode)
		checkKept(t, api.Response, api.Body)
		assert.NotContains(t, api.Code+api.Message, testKey)
		return
	}
	if invalid, ok := errors.AsType[*petstore.ResponseError](err); ok {
		require.ErrorIs(t, err, petstore.ErrInvalidResponse)
		checkKept(t, invalid.Response, invalid.Body)
		return
	}
	as[*petstore.TransportError](t, err)
	assert.Nil(t, r.response, "%v", err)
}

func checkKept(t *testing.T, r petstore.Response, body []byte) {
	t.Helper()
	assert.LessOrEqual(t, len(body), 4096)
	assert.NotContains(t, string(body), testKey)
	for _, values := range r.Header {
		assert.NotContains(t, strings.Join(values, " "), testKey)
	}
}

func TestCreatePetOddResponses(t *testing.T) {
	t.Parallel()
	const (
		pet  = `{"id":1,"name":"Rex","categoryId":3}`
		head = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
		tail = "Content-Length: 36\r\n\r\n" + pet
	)
	for name, c := range map[string]struct{ response, fault string }{
		"after 100 Continue":    {"HTTP/1.1 100 Continue\r\n\r\n" + head + tail, ""},
		"after 103 Early Hints": {"HTTP/1.1 103 Early Hints\r\nX-RateLimit-Limit: 9\r\n\r\n" + head + tail, ""},
		"in chunks with a rate limit trailer": {head + "Transfer-Encoding: chunked\r\nTrailer: X-RateLimit-Limit\r\n\r\n" +
			"24\r\n" + pet + "\r\n0\r\nX-RateLimit-Limit: 9\r\n\r\n", ""},
		"encoded as identity":     {head + "Content-Encoding: Identity\r\n" + tail, ""},
		"with its type twice":     {head + "Content-Type: application/json\r\n" + tail, ""},
		"with more than its body": {head + tail + "HTTP/1.1 201 Created\r\n\r\n", ""},
		"without a body":          {head + "Content-Length: 0\r\n\r\n", "(status 201): body is empty;"},
		"without body and type":   {"HTTP/1.1 201 Created\r\nLocation: /v1/pets/1\r\nContent-Length: 0\r\n\r\n", "body is empty"},
		"with status 304":         {"HTTP/1.1 304 Not Modified\r\n\r\n", "304 Not Modified; the pet"},
		"with status 204":         {"HTTP/1.1 204 No Content\r\n\r\n", "status is not the documented one"},
	} {
		t.Run("a pet "+name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, replaying(func() io.Reader { return strings.NewReader(c.response) }), testKey)
			created, err := client.CreatePet(t.Context(), newPet())
			if c.fault == "" {
				require.NoError(t, err)
				assert.Equal(t, "Rex", created.Pet.Name)
				assert.True(t, created.RateLimit.IsZero())
				return
			}
			require.ErrorContains(t, err, c.fault)
			assert.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
		})
	}
}

func TestAPIErrorBodyHasNoPartOfTheKey(t *testing.T) {
	client, _ := scripted(t, []responder{status(400, "key: "+testKey)}, petstore.WithMaxResponseBytes(int64(len("key: test-ke"))))
	refused, ok := errors.AsType[*petstore.APIError](create(client)) // internal/redact has all places
	require.True(t, ok)
	assert.NotContains(t, string(refused.Body), "test")
}

package petstore_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/loopback"
)

func TestCreatePetOddResponses(t *testing.T) {
	t.Parallel()
	loopback.Need(t)
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
			server := serveWire(t, nil, func(s *wireServer, conn net.Conn) {
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				s.requests.Add(1)
				_, _ = io.WriteString(conn, c.response)
			})
			client, err := petstore.NewClient(server.url, testKey)
			require.NoError(t, err)
			created, err := client.CreatePet(t.Context(), newPet())
			assert.EqualValues(t, 1, server.requests.Load())
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

func TestResponseErrorKeepsNeitherTheKeyNorMegabytes(t *testing.T) {
	t.Parallel()
	const key = "secret-key-0123456789"
	long := strings.Repeat(key+"-", 200_000)
	for name, body := range map[string]string{
		"a long name":     `[{"` + long + `":[}]`,
		"a duplicate":     `[{"` + key + `":1,"` + key + `":2}]`,
		"cut in the key":  `[{"id":1,"name":"` + key[:15],
		"cut in a escape": `[{"id":1,"name":"secret\u002dkey\u002d01`,
	} {
		client, err := petstore.NewClient("https://service.test/v1", key, petstore.WithMaxResponseBytes(64<<20),
			petstore.WithHTTPClient(&http.Client{Transport: &service{responders: []responder{status(200, body)}}}))
		require.NoError(t, err)
		err = list(client)
		bad, ok := errors.AsType[*petstore.ResponseError](err)
		require.True(t, ok, "%s: %v", name, err)
		for cause := error(bad); cause != nil; cause = errors.Unwrap(cause) {
			assert.NotContains(t, cause.Error(), key[:12], name)
			assert.LessOrEqual(t, len(cause.Error()), 512, name)
		}
		assert.NotContains(t, string(bad.Body), key, name)
	}
}

func TestAPIErrorBodyHasNoPartOfTheKey(t *testing.T) {
	t.Parallel()
	const key = "secret-key-0123456789"
	for most := range int64(60) {
		client, err := petstore.NewClient("https://service.test/v1", key, petstore.WithMaxResponseBytes(most+1),
			petstore.WithHTTPClient(&http.Client{Transport: &service{responders: []responder{
				status(400, `{"message":"no such key: `+key+`"}`, "X-Secret-Key-0123456789: "+key),
			}}}))
		require.NoError(t, err)
		_, err = client.CreatePet(t.Context(), newPet())
		refused, ok := errors.AsType[*petstore.APIError](err)
		require.True(t, ok, "%v", err)
		assert.NotContains(t, string(refused.Body), key[:6], most)
		for name, values := range refused.Header {
			assert.NotContains(t, strings.ToLower(name+strings.Join(values, " ")), key[:12])
		}
	}
}

package petstore_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
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

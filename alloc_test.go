//go:build !race

package petstore_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

// TestCallAllocations limits the allocations of a call with limiter, retries and strict decoding.
// Three of them are the transport's. Unlike a time, the number is the same on each machine.
func TestCallAllocations(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		body string
		call func(*petstore.Client) error
		most float64
	}{
		"list of 20":  {200, pets(20), list, 34},
		"list of 100": {200, pets(100), list, 114},
		"create":      {201, onePet, create, 18},
		"get":         {200, onePet, get, 13},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := petstore.NewClient("https://service.test/v1", testKey,
				petstore.WithHTTPClient(&http.Client{Transport: constantResponse(c.code, c.body)}))
			require.NoError(t, err)
			allocations := testing.AllocsPerRun(500, func() {
				if err := c.call(client); err != nil {
					t.Error(err)
				}
			})
			assert.LessOrEqual(t, allocations, c.most)
		})
	}
}

func pets(n int) string { return "[" + strings.Repeat(onePet+",", n-1) + onePet + "]" }

// constantResponse is a transport with three allocations: the response, its body, and the reader in
// it.
func constantResponse(code int, body string) http.RoundTripper {
	header := http.Header{
		"Content-Type": {"application/json"}, "Date": {"Sat, 21 Nov 2026 12:01:30 GMT"}, "X-Ratelimit-Limit": {"1000"},
		"X-Ratelimit-Remaining": {"999"}, "X-Ratelimit-Reset": {"1795262490"},
	}
	return responder(func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			_, _ = io.Copy(io.Discard, req.Body)
		}
		return &http.Response{
			StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body)),
			ContentLength: int64(len(body)), Request: req,
		}, nil
	})
}

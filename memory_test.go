//go:build !race

package petstore_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

// floods returns responses that are too large to read completely, and the client's errors for them.
func floods() map[string]flood {
	const json = "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%s\r\n"
	const huge = 128 << 20
	length := fmt.Sprintf("Content-Length: %d\r\n", huge)
	endless := func(text string) func() io.Reader { return func() io.Reader { return &repeated{text: text} } }
	small := gzipped(strings.Repeat(" ", 4*floodBound))
	bomb := func() io.Reader { return strings.NewReader(small) }
	whole := func(text string) func() io.Reader { // as long as the limit allows
		return func() io.Reader {
			return io.MultiReader(io.LimitReader(&repeated{text: text}, floodBound-20), strings.NewReader(`"}`))
		}
	}
	return map[string]flood{
		"an error body without end": {fmt.Sprintf(json, 404, "x", ""), endless(" "), "404"},
		"an escaped message":        {fmt.Sprintf(json, 400, "x", "") + `{"message":"`, whole(`\n`), "400"},
		"a nested error":            {fmt.Sprintf(json, 400, "x", length), endless("["), "400"},
		"a list":                    {fmt.Sprintf(json, 200, "x", length) + "[", endless(onePet + ","), "larger than 10 MiB"},
		"a gzip bomb":               {fmt.Sprintf(json, 200, "x", "Content-Encoding: gzip\r\n"), bomb, "larger than 10 MiB"},
		"a gzip bomb of an error":   {fmt.Sprintf(json, 500, "x", "Content-Encoding: gzip\r\n"), bomb, "500"},
		"headers":                   {"HTTP/1.1 200 x\r\n", endless("X-Flood: " + strings.Repeat("x", 1000) + "\r\n"), "not HTTP"},
		"a status line":             {"HTTP/1.1 200 ", endless("x"), "not HTTP"},
	}
}

func gzipped(text string) string {
	var out strings.Builder
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

type flood struct {
	head string
	rest func() io.Reader
	want string // in the error's text
}

// repeated repeats text for ever.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.text[r.at:])
		n, r.at = n+c, (r.at+c)%len(r.text)
	}
	return n, nil
}

// TestResponseMemory floods a client, and counts all bytes that it allocates until it returns the
// error.
func TestResponseMemory(t *testing.T) {
	for name, f := range floods() {
		t.Run(name, func(t *testing.T) {
			transport := replaying(func() io.Reader { return io.MultiReader(strings.NewReader(f.head), f.rest()) })
			transport.MaxResponseHeaderBytes = 1 << 20 // as the client's own transport
			client := newClient(t, transport, testKey, once)
			var err error
			allocated := allocations(func() { err = list(client) })
			require.ErrorContains(t, err, f.want)
			assertShortLine(t, err)
			if api, ok := errors.AsType[*petstore.APIError](err); ok {
				assert.LessOrEqual(t, len(api.Body), 4096)
			}
			assert.Less(t, allocated, 7*floodBound, "the buffer doubles, and the decoder copies")
		})
	}
}

// floodBound is the client's default bound of a body.
const floodBound = 10 << 20

// allocations returns the bytes that f allocates, including those that are garbage afterwards.
func allocations(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestListPetsMemory checks that a long list takes twice its size: once for the body, and once for
// the names.
func TestListPetsMemory(t *testing.T) {
	name := strings.Repeat("x", 90_000)
	pet := `{"id":7,"name":"` + name + `","categoryId":3}`
	body := "[" + strings.Repeat(pet+",", petstore.MaxListLimit-1) + pet + "]"
	client, _ := scripted(t, []responder{func(req *http.Request) (*http.Response, error) {
		resp := response(req, http.StatusOK, strings.NewReader(body))
		resp.ContentLength = int64(len(body))
		return resp, nil
	}})
	var result *petstore.ListPetsResult
	var err error
	allocated := allocations(func() { result, err = client.ListPets(t.Context(), petstore.ListPetsParams{}) })
	require.NoError(t, err)
	require.Len(t, result.Pets, petstore.MaxListLimit)
	for _, p := range result.Pets {
		require.Equal(t, petstore.Pet{ID: 7, Name: name, CategoryID: 3}, p)
	}
	assert.Less(t, allocated, len(body)*5/2)
}

// TestCallAllocations limits the allocations of a call with limiter, retries and strict decoding.
// Three of them are the transport's. Unlike a time, this number is the same on each machine.
func TestCallAllocations(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		body string
		call callFunc
		most float64
	}{
		"list of 20":  {200, pets(20), list, 116},
		"list of 100": {200, pets(100), list, 360},
		"create":      {201, onePet, create, 61},
		"get":         {200, onePet, get, 56},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, constantResponse(c.code, c.body), testKey, petstore.WithLimiter(ratelimit.New()))
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

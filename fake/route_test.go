package fake_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// Which paths the service has: paths are taken as they are, segment by segment.
func TestRoutes(t *testing.T) {
	_, d := open(t, fake.WithPets(catalogue(2)...))
	for target, status := range map[string]int{
		"GET /pets": 200, "GET /pets?x=/": 200, "GET /p%65ts": 200, "GET /pets/1": 200, "GET /pets/%31": 200, "GET /pets/1?x=1": 200,
		"HEAD /pets": 405, "PUT /pets": 405, "DELETE /pets/1": 405, "NOSUCH /pets/1": 405, "get /pets": 405, "POST /pets/1": 405,
		"GET /pets/": 404, "GET /pets/1/": 404, "GET /pets/1/x": 404, "GET //pets": 404, "GET /../v1/pets": 404, "GET /petss": 404,
		"GET /Pets": 404, "GET /pets%2F1": 404, "GET /pets/1%2F2": 404, "GET /pets/..": 404, "GET /": 404, "PUT /orders": 404,
		"GET /pets/3": 404, "GET /pets/01": 404, "GET /pets/+1": 404, "GET /pets/1.0": 404, "GET /pets/-0": 404, "GET /pets/a": 404,
		"GET /pets/99999999999999999999": 404, "GET /pets/ü": 404, "GET /pets?limit=01": 400, "GET /pets?limit=%2B1": 400, "GET /pets?limit=٥": 400,
	} {
		method, path, _ := strings.Cut(target, " ")
		r := d.send(t, request{method: method, path: path})
		assert.Equal(t, status, r.status, target)
		if status == 405 {
			assert.Contains(t, r.header.Get("Allow"), "GET", target)
		}
	}
}

// FuzzConnection sends any bytes. Each response has the headers of the document, and a refusal an
// Error object; each 201 has added a pet; each response of the service is in the journal.
func FuzzConnection(f *testing.F) {
	const key = "Host: x\r\nAuthorization: Bearer " + fake.DefaultAPIKey + "\r\n"
	const post = "POST /v1/pets HTTP/1.1\r\n" + key + "Content-Type: application/json\r\n"
	for _, sent := range []string{
		"", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "GET /v1/pets\r\n\r\n", "GET /v1/pets HTTP/1.1\r\n" + key + "\r\n",
		"GET /v1/pets/1 HTTP/1.1\r\n" + key + "\r\nGET /v1/pets/2 HTTP/1.1\r\n" + key + "\r\n", "GET /v1/pets HTTP/9.9\r\n" + key + "\r\n",
		"GET http://other/v1/pets HTTP/1.1\r\n" + key + "\r\n", "OPTIONS * HTTP/1.1\r\n" + key + "\r\n", "CONNECT x:1 HTTP/1.1\r\n" + key + "\r\n",
		"GET /v1/pets HTTP/1.1\r\n" + key + key[9:] + "\r\n", "HEAD /v1/pets HTTP/1.0\r\n" + key + "\r\n", "GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n",
		post + "Content-Length: 29\r\n\r\n{\"name\":\"Rex\",\"categoryId\":1}", post + "Content-Length: 99\r\n\r\n{\"name\":\"Rex\",\"categoryId\":1}",
		post + "Transfer-Encoding: chunked\r\n\r\n1d\r\n{\"name\":\"Rex\",\"categoryId\":1}\r\n0\r\n\r\n", post + "Expect: more\r\nContent-Length: 2\r\n\r\n{}",
		post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
		post + "Content-Length: 100000\r\n\r\n" + strings.Repeat("[", 100_000), post + "Content-Length: 4\r\n\r\nnullGET /v1/pets HTTP/1.1\r\n" + key + "\r\n",
	} {
		f.Add([]byte(sent))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		synctest.Test(t, func(t *testing.T) {
			srv := fake.NewServer(fake.WithPlan(fake.Plan{}))
			conn, err := srv.HTTPClient().Transport.(*http.Transport).DialContext(t.Context(), "", "")
			require.NoError(t, err)
			_, _ = conn.Write(sent)
			synctest.Wait() // until the server has read it
			var wg sync.WaitGroup
			wg.Go(srv.Close) // after which no request comes any more
			received, _ := io.ReadAll(conn)
			_ = conn.Close()
			wg.Wait()
			created := 0
			for _, r := range srv.Requests() {
				checkResponse(t, r)
				if r.StatusCode == http.StatusCreated {
					created++
				}
			}
			assert.Len(t, srv.Pets(), created)
			if len(srv.Requests()) > 0 && srv.Requests()[0].StatusCode != 0 {
				_, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(received)), &http.Request{Method: srv.Requests()[0].Method})
				assert.NoError(t, err, "%q", received)
			}
		})
	})
}

// checkResponse checks what every response of the service has.
func checkResponse(t *testing.T, r fake.Request) {
	t.Helper()
	if r.StatusCode == 0 {
		return
	}
	for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Date"} {
		assert.Len(t, r.ResponseHeader[name], 1, name)
	}
	assert.Equal(t, []string{"application/json"}, r.ResponseHeader["Content-Type"])
	if r.StatusCode >= 400 && r.Method != http.MethodHead {
		var e struct {
			Code, Message string
			Status        int
		}
		require.NoError(t, json.Unmarshal(r.ResponseBody, &e, json.MatchCaseInsensitiveNames(true)))
		assert.True(t, e.Code != "" && e.Message != "" && e.Status == r.StatusCode, "%s", r.ResponseBody)
	}
}

package fake

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/link"
)

// caller is the server's end of a connection from which it reads given bytes and then EOF.
type caller struct {
	net.Conn
	sends  *bytes.Reader
	once   sync.Once
	closed chan struct{}
}

func (c *caller) Read(p []byte) (int, error)  { return c.sends.Read(p) }
func (c *caller) Write(p []byte) (int, error) { return len(p), nil }

func (c *caller) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *caller) LocalAddr() net.Addr              { return link.ServerAddress }
func (c *caller) RemoteAddr() net.Addr             { return link.ClientAddress }
func (c *caller) SetDeadline(time.Time) error      { return nil }
func (c *caller) SetReadDeadline(time.Time) error  { return nil }
func (c *caller) SetWriteDeadline(time.Time) error { return nil }

// served is a request as net/http read it, and the server's response to it.
type served struct {
	request *http.Request
	body    []byte
	broken  bool // the body could not be read
	answer  *httptest.ResponseRecorder
}

// serveBytes lets a net/http server serve the requests in the bytes.
func serveBytes(srv *Server, sent []byte) []served {
	var all []served
	hs := newHTTPServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		x := served{r.Clone(r.Context()), body, err != nil, httptest.NewRecorder()}
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		srv.serve(x.answer, r, nil)
		all = append(all, x)
	}))
	c := &caller{sends: bytes.NewReader(sent), closed: make(chan struct{})}
	link.Serve(c, hs)
	<-c.closed
	return all
}

// failing is the end of a body.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// FuzzConnection sends any bytes. The requests that net/http reads are served as the document says.
// Other bytes change nothing.
func FuzzConnection(f *testing.F) {
	const key = "Host: x\r\nAuthorization: Bearer " + DefaultAPIKey + "\r\n"
	post := "POST /v1/pets HTTP/1.1\r\n" + key + "Content-Type: application/json\r\n"
	for _, sent := range []string{
		"", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "GET /v1/pets\r\n\r\n",
		"GET /v1/pets HTTP/1.1\r\n" + key + "\r\n", "GET /v1/pets?limit=1&status=sold HTTP/1.1\r\n" + key + "\r\n",
		"GET /v1/pets?limit=0 HTTP/1.0\r\n" + key + "\r\n", "GET /v1/pets?limit=%zz HTTP/1.1\r\n" + key + "\r\n",
		"GET /v1/pets/1 HTTP/1.1\r\n" + key + "\r\nGET /v1/pets/2 HTTP/1.1\r\n" + key + "\r\n",
		"GET http://other/v1/pets HTTP/1.1\r\n" + key + "\r\n", "GET /v1%2Fpets HTTP/1.1\r\n" + key + "\r\n",
		"GET /v1/pets/%31 HTTP/1.1\r\n" + key + "\r\n", "GET /v1/pets/1%2F2 HTTP/1.1\r\n" + key + "\r\n",
		"GET /v1/pets/+1 HTTP/1.1\r\n" + key + "\r\nGET /v1/pets/01 HTTP/1.1\r\n" + key + "\r\n",
		"GET /v1/pets?limit=01 HTTP/1.1\r\n" + key + "\r\nGET /v1/pets?limit=%2B1 HTTP/1.1\r\n" + key + "\r\n",
		"GET /v1//pets HTTP/1.1\r\n" + key + "\r\n", "GET /v1/../v1/pets HTTP/1.1\r\n" + key + "\r\n",
		"HEAD /v1/pets HTTP/1.1\r\n" + key + "\r\n", "NOSUCH /v1/pets/1 HTTP/1.1\r\n" + key + "\r\n",
		"OPTIONS * HTTP/1.1\r\n" + key + "\r\n", "CONNECT x:1 HTTP/1.1\r\n" + key + "\r\n", "PUT /nothing HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Basic x\r\n\r\n",
		"GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: bEARER  " + DefaultAPIKey + "\r\n\r\n",
		"GET /v1/pets HTTP/1.1\r\n" + key + key[9:] + "\r\n", "GET /v1/pets HTTP/9.9\r\n" + key + "\r\n",
		post + "Content-Length: 29\r\n\r\n{\"name\":\"Rex\",\"categoryId\":1}", post + "Content-Length: 99\r\n\r\n{\"name\":\"Rex\",\"categoryId\":1}",
		post + "Transfer-Encoding: chunked\r\n\r\n1d\r\n{\"name\":\"Rex\",\"categoryId\":1}\r\n0\r\n\r\n",
		post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
		post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\n{\"name\":\"Rex\",\"categoryId\":1}\r\n0\r\n\r\n",
		post + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", post + "Expect: more\r\nContent-Length: 2\r\n\r\n{}",
		post + "Content-Length: -1\r\n\r\n{}", post + "Transfer-Encoding: gzip\r\n\r\n{}", "GET /v1/pets\x00 HTTP/1.1\r\n" + key + "\r\n",
		post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{}", "GET /v1/pets HTTP/1.1\r\n" + key + "X: \x00\r\n\r\n",
		post + "Content-Length: 100000\r\n\r\n" + strings.Repeat("[", 100_000),
		"GET /v1/pets HTTP/1.1\r\n" + key + "X: " + strings.Repeat("x", 200_000) + "\r\n\r\n",
		post + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", post + "Content-Length: 4\r\n\r\nnullGET /v1/pets HTTP/1.1\r\n" + key + "\r\n",
	} {
		f.Add([]byte(sent))
	}
	for _, target := range []string{
		"/v1/pets/", "/v1/pets/7/", "/v1/pets/7/x", "/v1/pets/%37", "/v1/pets/a%2Fb", "/v1/pets/%2f", "/v1/petss", "/v1", "/", "/v2/pets",
		"/v1/pets?x=/", "/v1/pets/-1", "/v1/pets/9223372036854775808", "/v1/pets/1.0", "/v1/pets/-0", "/v1/pets/1?x=1",
		"/v1/pets?limit=-3", "/v1/pets?limit=5.0", "/v1/pets?limit=-0", "/v1/pets?limit=0x5", "/v1/pets?limit=٥", "/v1/pets?limit=", "/v1/pets?status=SOLD",
		"/v1/pets/..", "/V1/pets", "/v1/pets/ü", "*", "/%70ets/1", "/v1/pets%2F1", "/v1/pets/1%2f", "/v1/%70ets/1",
	} {
		for _, method := range []string{"GET", "POST", "HEAD", "NOSUCH", "get", "OPTIONS", "CONNECT", "PUT", "PATCH", "DELETE"} {
			f.Add([]byte(method + " " + target + " HTTP/1.1\r\n" + key + "\r\n"))
		}
	}
	for _, media := range []string{"text/plain", "application/json; charset", "application/json; charset=utf-8", "Application/JSON"} {
		f.Add([]byte("POST /v1/pets HTTP/1.1\r\n" + key + "Content-Type: " + media + "\r\nContent-Length: 29\r\n\r\n{\"name\":\"Rex\",\"categoryId\":1}"))
	}
	for _, body := range []string{
		`{`, `{"name":"Rex","categoryId":01}`, "{\"name\":\"R\x00x\"}", `{"categoryId":9223372036854775808}`, `{"name":"\ud800","categoryId":1}`,
		`{"name":"Rex","categoryId":null}`, `{"name":"Rex","categoryId":1e3}`, `{"x":[{"y":"}"}],"x":{},"name":"","categoryId":1}`,
		`{"name":"Rex","categoryId":1,"status":""}`, `{"a":{"b":1,"b":2},"name":"Rex","categoryId":1}`, `{"name":"Rex","categoryId":1}x`,
		"\n{\t\"categoryId\" : -0 ,\r\n\"name\" : \" \" }\n", `{"name":"Rex","categoryId":1,"status":null}`,
		`{"status":"sold","name":"\u0052ex","categoryId":-7}`, `{"name":"🐶\ud83d\udc36\ufffd","categoryId":1}`,
		`{"name":"Rex","categoryId":9223372036854775807}`, `{"name":"Rex","categoryId":-9223372036854775808}`,
		`{"a":[1,{"b":["}"]}],"c":{"name":""},"name":"Rex","categoryId":2}`,
		`{"a":1.5e3,"b":true,"c":null,"name":"Rex","categoryId":3,"d":"\\"}`,
	} {
		f.Add(fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n%s", post, len(body), body))
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	srv := NewServer(WithClock(func() time.Time { return now }), WithPlan(Plan{}),
		WithPets(petstore.NewPet{Name: "Tom", CategoryID: 2}))
	f.Cleanup(srv.Close)
	f.Fuzz(func(t *testing.T, sent []byte) {
		srv.Reset()
		all := serveBytes(srv, sent)
		model := model{now: now, pets: []petstore.Pet{{ID: 1, Name: "Tom", CategoryID: 2}}}
		for _, x := range all {
			model.check(t, x)
		}
		assert.Equal(t, model.pets, srv.Pets())
		assert.Len(t, srv.Requests(), len(all))
	})
}

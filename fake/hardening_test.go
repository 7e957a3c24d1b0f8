package fake_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

const rawKey = "Host: x\r\nAuthorization: Bearer " + fake.DefaultAPIKey + "\r\n"

func TestMalformedInput(t *testing.T) {
	t.Run("is refused", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		post := "POST /v1/pets HTTP/1.1\r\n" + rawKey + "Content-Type: application/json\r\nConnection: close\r\n"
		for name, text := range map[string]string{
			"no HTTP":           "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
			"no version":        "GET /v1/pets\r\n\r\n",
			"HTTP 9":            "GET /v1/pets HTTP/9.9\r\n" + rawKey + "\r\n",
			"NUL in path":       "GET /v1/pets\x00 HTTP/1.1\r\n" + rawKey + "\r\n",
			"NUL in header":     "GET /v1/pets HTTP/1.1\r\n" + rawKey + "X: \x00\r\n\r\n",
			"bad escape":        "GET /v1/pets/%zz HTTP/1.1\r\n" + rawKey + "\r\n",
			"header too large":  "GET /v1/pets HTTP/1.1\r\n" + rawKey + "X: " + strings.Repeat("x", 200_000) + "\r\n\r\n",
			"smuggled lengths":  post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
			"negative length":   post + "Content-Length: -1\r\n\r\n{}",
			"strange encoding":  post + "Transfer-Encoding: gzip\r\n\r\n{}",
			"bad chunk":         post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
			"endless chunk":     post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{}",
			"NUL in body":       post + "Content-Length: 31\r\n\r\n{\"name\":\"R\x00x\",\"categoryId\":1}  ",
			"body not UTF-8":    post + "Content-Length: 30\r\n\r\n{\"name\":\"R\xffx\",\"categoryId\":1} ",
			"2 MiB body":        post + "Content-Length: 2097152\r\n\r\n" + strings.Repeat("x", 2<<20),
			"deeply nested":     post + "Content-Length: 100000\r\n\r\n" + strings.Repeat("[", 100_000),
			"length over bytes": post + "Content-Length: 5\r\n\r\n{}   ",
		} {
			t.Run(name, func(t *testing.T) {
				status, body := refusalOf(t, srv.URL(), text)
				assert.True(t, status == 0 || status >= 400 && status < 506, "%d %s", status, body)
			})
		}
		assert.Empty(t, srv.Pets())
		assert.Equal(t, http.StatusOK, viaURL(t, srv).list(t).status)
	})
	t.Run("a body with a length and chunks is read as chunks", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		answer := exchangeRaw(t, srv.URL(), "POST /v1/pets HTTP/1.1\r\n"+rawKey+
			"Content-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n"+
			"Connection: close\r\n\r\n1d\r\n{\"name\":\"Rex\",\"categoryId\":1}\r\n0\r\n\r\n")
		assert.True(t, strings.HasPrefix(answer, "HTTP/1.1 201 "), answer)
	})
	t.Run("a request whose body breaks off is not carried out", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		conn := dialRaw(t, srv.URL())
		_, err := io.WriteString(conn, "POST /v1/pets HTTP/1.1\r\n"+rawKey+
			"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{\"name\":\"Rex\",\"categoryId\":1}")
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		assert.Contains(t, string(answer), "400 Bad Request")
		assert.Contains(t, string(answer), "the request body cannot be read: unexpected EOF")
		assert.Empty(t, srv.Pets())
	})
	t.Run("Close does not wait for half a header", func(t *testing.T) {
		srv := fake.NewServer()
		defer srv.Close()
		conn := dialRaw(t, srv.URL())
		_, err := io.WriteString(conn, "GET /v1/pets HTTP/1.1\r\nHost:")
		require.NoError(t, err)
		srv.Close()
		_, err = conn.Read(make([]byte, 1))
		assert.Error(t, err)
	})
	t.Run("refused bodies take no memory", func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithJournal(1), fake.WithPlan(fake.Enterprise(0, 0)))
		d := viaTransport(t, srv)
		before := heap()
		for range 20 {
			r := d.send(t, request{path: "/pets", body: strings.Repeat("x", 2<<20)})
			assert.Equal(t, http.StatusBadRequest, r.status)
		}
		runtime.GC()
		assert.Less(t, int64(heap())-int64(before), int64(8<<20))
	})
	t.Run("an object of many fields is read in a reasonable time", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		var b strings.Builder
		b.WriteString(`{"name":"Rex","categoryId":1`)
		for i := range 50_000 {
			b.WriteString(`,"f` + strconv.Itoa(i) + `":0`)
		}
		b.WriteString("}")
		start := time.Now()
		assert.Equal(t, http.StatusCreated, viaTransport(t, srv).send(t, request{path: "/pets", body: b.String()}).status)
		assert.Less(t, time.Since(start), 5*time.Second)
	})
}

// refusalOf sends bytes to a port and returns the response, 0 for a closed connection.
func refusalOf(t *testing.T, base, text string) (int, string) {
	t.Helper()
	conn := dialRaw(t, base)
	go func() { _, _ = io.WriteString(conn, text) }() // the server may stop reading at any time
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func FuzzCreatePetAnswersWhateverItGets(f *testing.F) {
	for _, body := range []string{
		`{"name":"Rex","categoryId":1,"status":"sold"}`, `{"a":[{"b":[]}],"name":"\ud83d\udc36"}`, `{`, `null`, `""`,
		`{"x":{},"y":[[]],"z":-1.5e+3,"name":"\\\"","categoryId":-9223372036854775808}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		srv := fake.NewTestServer(t)
		r := viaTransport(t, srv).send(t, request{method: http.MethodPost, path: "/pets", body: string(body)})
		assert.Contains(t, []int{201, 400}, r.status)
		assert.Len(t, srv.Pets(), map[int]int{201: 1, 400: 0}[r.status])
	})
}

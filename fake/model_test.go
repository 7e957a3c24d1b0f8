package fake

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/big"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/link"
)

// model is a second implementation of the service document, which checks the responses of the fake.
// It reads paths with net/http's ServeMux.
type model struct {
	now  time.Time
	pets []petstore.Pet // by ascending id
}

// check fails the test unless a request was served as the document says, and updates the catalogue.
func (m *model) check(t *testing.T, x served) {
	t.Helper()
	checkEveryResponse(t, m.now, x)
	path, id := pathByServeMux(x.request)
	switch operation := x.request.Method + " " + path; {
	case path == "":
		assert.Equal(t, http.StatusNotFound, x.answer.Code)
	case !presentsKey(x.request.Header):
		assert.Equal(t, http.StatusUnauthorized, x.answer.Code)
		assert.Equal(t, "Bearer", x.answer.Header().Get("WWW-Authenticate"))
	case operation == "GET /v1/pets":
		m.checkList(t, x)
	case operation == "POST /v1/pets":
		m.checkCreate(t, x)
	case operation == "GET /v1/pets/{petId}":
		m.checkGet(t, x, id)
	default:
		assert.Equal(t, http.StatusMethodNotAllowed, x.answer.Code, "model_test.go has no %s", operation)
		assert.Contains(t, x.answer.Header().Get("Allow"), http.MethodGet)
	}
}

// checkEveryResponse checks the parts that all responses have: the three headers, the server's time
// and JSON, which is an Error object in a refusal (sections 7 and 8.2).
func checkEveryResponse(t *testing.T, now time.Time, x served) {
	t.Helper()
	h := x.answer.Header()
	for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
		require.Len(t, h[name], 1, name)
		n, ok := new(big.Int).SetString(h[name][0], 10)
		assert.True(t, ok && n.Sign() >= 0 && n.IsInt64(), "%s: %s", name, h[name])
	}
	assert.Equal(t, now.UTC().Format(http.TimeFormat), h.Get("Date"))
	assert.Equal(t, "application/json", h.Get("Content-Type"))
	if x.answer.Code < 400 || x.request.Method == http.MethodHead {
		return
	}
	e := read[struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Status  int    `json:"status"`
	}](t, x)
	assert.NotEmpty(t, e.Code)
	assert.NotEmpty(t, e.Message)
	assert.Equal(t, x.answer.Code, e.Status)
}

// read reads the body of a response, which must have no other fields.
func read[T any](t *testing.T, x served) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(x.answer.Body.Bytes(), &v, json.RejectUnknownMembers(true)))
	return v
}

// pathByServeMux is the template of a path of the service, as net/http understands paths, empty if
// it has none.
func pathByServeMux(r *http.Request) (template, id string) {
	mux := http.NewServeMux()
	for _, path := range []string{"/v1/pets", "/v1/pets/{petId}"} {
		mux.HandleFunc(path, func(_ http.ResponseWriter, r *http.Request) { template, id = path, r.PathValue("petId") })
	}
	r = r.Clone(r.Context())
	r.Method = http.MethodConnect // only then ServeMux takes paths as they are, and does not redirect
	slash := strings.HasSuffix(strings.ToUpper(r.URL.RawPath), "/%2F")
	if slash { // ServeMux takes a last segment %2F for none
		r.URL.RawPath, r.URL.Path = r.URL.RawPath+"%2F", r.URL.Path+"/"
	}
	mux.ServeHTTP(httptest.NewRecorder(), r)
	if slash {
		id = strings.TrimSuffix(id, "/")
	}
	return template, id
}

func presentsKey(h http.Header) bool {
	values := h["Authorization"]
	if len(values) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	return strings.EqualFold(scheme, "Bearer") && strings.Trim(token, " ") == DefaultAPIKey
}

// jsonInteger is the one spelling of an integer that the fake takes, also in a path and a query.
var jsonInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// number reads an integer with math/big, and returns false if it is not between least and most.
func number(s string, least, most int64) (int64, bool) {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok || !jsonInteger.MatchString(s) || n.Cmp(big.NewInt(least)) < 0 || n.Cmp(big.NewInt(most)) > 0 {
		return 0, false
	}
	return n.Int64(), true
}

func (m *model) checkList(t *testing.T, x served) {
	t.Helper()
	values, err := url.ParseQuery(x.request.URL.RawQuery)
	limit, good := int64(20), err == nil && len(values["limit"]) < 2 && len(values["status"]) < 2
	if good && values.Has("limit") {
		limit, good = number(values.Get("limit"), 1, 100)
	}
	status := petstore.PetStatus(values.Get("status"))
	if !good || values.Has("status") && !status.Valid() {
		assert.Equal(t, http.StatusBadRequest, x.answer.Code, x.request.URL.RawQuery)
		return
	}
	require.Equal(t, http.StatusOK, x.answer.Code, x.request.URL.RawQuery)
	want := []petstore.Pet{}
	for _, p := range m.pets {
		if (status == "" || p.Status == status) && int64(len(want)) < limit {
			want = append(want, p)
		}
	}
	assert.Equal(t, want, read[[]petstore.Pet](t, x))
}

func (m *model) checkGet(t *testing.T, x served, petID string) {
	t.Helper()
	id, ok := number(petID, math.MinInt64, math.MaxInt64)
	i := slices.IndexFunc(m.pets, func(p petstore.Pet) bool { return ok && p.ID == id })
	if i < 0 {
		assert.Equal(t, http.StatusNotFound, x.answer.Code, petID)
		return
	}
	require.Equal(t, http.StatusOK, x.answer.Code, petID)
	assert.Equal(t, m.pets[i], read[petstore.Pet](t, x))
}

func (m *model) checkCreate(t *testing.T, x served) {
	t.Helper()
	p, ok := readModelPet(x.body)
	if !ok || x.broken || len(x.body) > maxBody || !saysJSON(x.request.Header) {
		assert.Equal(t, http.StatusBadRequest, x.answer.Code, "%s", x.body)
		return
	}
	require.Equal(t, http.StatusCreated, x.answer.Code, "%s: %s", x.body, x.answer.Body)
	want := petstore.Pet{ID: int64(len(m.pets) + 1), Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	assert.Equal(t, want, read[petstore.Pet](t, x))
	m.pets = append(m.pets, want)
}

func saysJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	encoding := h.Get("Content-Encoding")
	return err == nil && media == "application/json" && (encoding == "" || encoding == "identity")
}

// readModelPet reads a NewPet (section 2).
func readModelPet(body []byte) (p petstore.NewPet, ok bool) {
	var members map[string]jsontext.Value
	if json.Unmarshal(body, &members) != nil {
		return p, false
	}
	var name, status string
	if json.Unmarshal(members["name"], &name) != nil || name == "" {
		return p, false
	}
	category, ok := number(string(members["categoryId"]), math.MinInt64, math.MaxInt64)
	if !ok {
		return p, false
	}
	if value, given := members["status"]; given {
		if value.Kind() != '"' || json.Unmarshal(value, &status) != nil || !petstore.PetStatus(status).Valid() {
			return p, false
		}
	}
	return petstore.NewPet{Name: name, CategoryID: category, Status: petstore.PetStatus(status)}, true
}

// caller is the server's end of a connection from which it reads given bytes and then EOF.
type caller struct {
	net.Conn // for its addresses and deadlines
	sends    *bytes.Reader
	once     sync.Once
	closed   chan struct{}
}

func (c *caller) Read(p []byte) (int, error)  { return c.sends.Read(p) }
func (c *caller) Write(p []byte) (int, error) { return len(p), nil }

func (c *caller) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

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
	hs := srv.newHTTPServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		x := served{r.Clone(r.Context()), body, err != nil, httptest.NewRecorder()}
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		srv.serve(x.answer, r, 1)
		all = append(all, x)
	}))
	c := &caller{Conn: link.New(func(*link.Link) {}).Server, sends: bytes.NewReader(sent), closed: make(chan struct{})}
	link.Serve(c, hs)
	<-c.closed
	return all
}

// failing ends a body, with an error or with EOF.
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
	srv := NewServer(WithPlan(Plan{}), WithPets(petstore.NewPet{Name: "Tom", CategoryID: 2}))
	f.Cleanup(srv.Close)
	f.Fuzz(func(t *testing.T, sent []byte) {
		srv.Reset()
		synctest.Test(t, func(t *testing.T) {
			all := serveBytes(srv, sent)
			model := model{now: srv.Now(), pets: []petstore.Pet{{ID: 1, Name: "Tom", CategoryID: 2}}}
			for _, x := range all {
				model.check(t, x)
			}
			assert.Equal(t, model.pets, srv.Pets())
			assert.Len(t, srv.Requests(), len(all))
		})
	})
}

package fake_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

// No test leaves a goroutine behind.
func TestMain(m *testing.M) {
	testkit.SkipExamples()
	goleak.VerifyTestMain(m)
}

// server is a fake with a client of one of its entry points.
type server struct {
	*fake.Server
	client *http.Client
	base   string
}

var entryPoints = map[string]func(testing.TB, *fake.Server) server{"memory": inMemory, "loopback": overLoopback}

// throughEveryEntryPoint runs a subtest once for each entry point, with a new server.
func throughEveryEntryPoint(t *testing.T, name string, f func(*testing.T, server), opts ...fake.Option) {
	t.Helper()
	for entry, reach := range entryPoints {
		t.Run(name+"/"+entry, func(t *testing.T) { f(t, reach(t, fake.NewTestServer(t, opts...))) })
	}
}

// inBubble runs a subtest in virtual time.
func inBubble(t *testing.T, name string, f func(*testing.T, server), opts ...fake.Option) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, open(t, opts...)) })
	})
}

// open returns a server that is reached in memory.
func open(t fake.TB, opts ...fake.Option) server {
	return inMemory(nil, fake.NewTestServer(t, opts...))
}

func inMemory(_ testing.TB, srv *fake.Server) server {
	return server{srv, srv.HTTPClient(), "https://service.test/v1"}
}

// overLoopback returns a client with connections of its own, which end with the test.
func overLoopback(t testing.TB, srv *fake.Server) server {
	testkit.Loopback(t)
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return server{srv, &http.Client{Transport: tr}, srv.URL()}
}

// dial returns a connection in memory, for requests that net/http would not send.
func (srv server) dial(t testing.TB) net.Conn {
	t.Helper()
	conn, err := srv.client.Transport.(*http.Transport).DialContext(t.Context(), "", "")
	require.NoError(t, err)
	return conn
}

// request is a request of a test; its zero fields stand for the usual values.
type request struct {
	method, path, body string
	auth               string
	header             http.Header // in place of the usual ones
}

// create is a request for a new pet.
func create(name string) request {
	return request{path: "/pets", body: fmt.Sprintf(`{"name":%q,"categoryId":1}`, name)}
}

func (q request) build(t testing.TB, base string) *http.Request {
	t.Helper()
	method := cmp.Or(q.method, http.MethodGet)
	if q.method == "" && q.body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+q.path, strings.NewReader(q.body))
	require.NoError(t, err)
	req.Header.Set("Authorization", cmp.Or(q.auth, "Bearer "+fake.DefaultAPIKey))
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, q.header)
	return req
}

// reply is a response that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request that must be served.
func (srv server) send(t testing.TB, q request) reply {
	t.Helper()
	r, err := srv.try(t, q)
	require.NoError(t, err)
	return r
}

// try sends a request that may fail.
func (srv server) try(t testing.TB, q request) (reply, error) {
	t.Helper()
	resp, err := srv.client.Do(q.build(t, srv.base))
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body)}, err
}

// serve calls the server as a handler whose connection cannot be hijacked.
func (srv server) serve(t testing.TB) {
	srv.ServeHTTP(httptest.NewRecorder(), request{path: "/pets"}.build(t, srv.base))
}

func (srv server) list(t testing.TB) reply { return srv.send(t, request{path: "/pets"}) }

// admitted sends requests until one is refused, and returns how many were admitted.
func (srv server) admitted(t testing.TB) (n int, r reply) {
	t.Helper()
	for r = srv.list(t); r.status == http.StatusOK; r = srv.list(t) {
		n++
		require.LessOrEqual(t, n, 100, "no request is refused")
	}
	return n, r
}

// last returns the newest request of the journal.
func (srv server) last(t testing.TB) fake.Request {
	t.Helper()
	require.NotEmpty(t, srv.Requests())
	return srv.Requests()[len(srv.Requests())-1]
}

// rules returns the rules that were broken so far, in order.
func (srv server) rules() (broken []fake.Rule) {
	for _, v := range srv.Violations() {
		broken = append(broken, v.Rule)
	}
	return broken
}

// recorder is a TB that records the log and the errors of a test; its function end ends the test.
type recorder struct {
	log, errors bytes.Buffer
	end         func()
}

func (r *recorder) Helper()                      {}
func (r *recorder) Name() string                 { return "TestImport" }
func (r *recorder) Cleanup(f func())             { r.end = f }
func (r *recorder) Failed() bool                 { return r.errors.Len() > 0 }
func (r *recorder) Logf(f string, args ...any)   { fmt.Fprintf(&r.log, f+"\n", args...) }
func (r *recorder) Errorf(f string, args ...any) { fmt.Fprintf(&r.errors, f+"\n", args...) }

package fake_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

// entryPoint is one way to a server.
type entryPoint struct {
	client *http.Client
	base   string
}

var entryPoints = map[string]func(testing.TB, *fake.Server) entryPoint{"memory": viaMemory, "loopback": viaURL}

// throughEveryEntryPoint runs a subtest once for each entry point, each time with a server of its
// own.
func throughEveryEntryPoint(
	t *testing.T, name string, opts []fake.Option, f func(*testing.T, *fake.Server, entryPoint),
) {
	t.Helper()
	for entry, open := range entryPoints {
		t.Run(name+"/"+entry, func(t *testing.T) {
			srv := fake.NewTestServer(t, opts...)
			f(t, srv, open(t, srv))
		})
	}
}

// inBubble runs a subtest in virtual time.
func inBubble(t *testing.T, name string, opts []fake.Option, f func(*testing.T, *fake.Server, entryPoint)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv, d := open(t, opts...)
			f(t, srv, d)
		})
	})
}

func viaMemory(_ testing.TB, srv *fake.Server) entryPoint {
	return entryPoint{srv.HTTPClient(), "http://service.test/v1"}
}

// open returns a server with its entry point in memory.
func open(t fake.TB, opts ...fake.Option) (*fake.Server, entryPoint) {
	srv := fake.NewTestServer(t, opts...)
	return srv, viaMemory(nil, srv)
}

// viaURL has connections of its own, which end with the test.
func viaURL(t testing.TB, srv *fake.Server) entryPoint {
	testkit.Loopback(t)
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return entryPoint{&http.Client{Transport: tr}, srv.URL()}
}

// request is a request of a test; its zero fields stand for the usual values.
type request struct {
	method, path, body string
	auth               string      // "-": none
	header             http.Header // in place of the usual ones
}

func (q request) build(t testing.TB, base string) *http.Request {
	t.Helper()
	method := cmp.Or(q.method, http.MethodGet)
	if q.method == "" && q.body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+q.path, strings.NewReader(q.body))
	require.NoError(t, err)
	if q.auth != "-" {
		req.Header.Set("Authorization", cmp.Or(q.auth, "Bearer "+fake.DefaultAPIKey))
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
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
func (d entryPoint) send(t testing.TB, q request) reply {
	t.Helper()
	r, err := d.try(t, q)
	require.NoError(t, err)
	return r
}

// try sends a request that may fail.
func (d entryPoint) try(t testing.TB, q request) (reply, error) {
	t.Helper()
	resp, err := d.client.Do(q.build(t, d.base))
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body)}, err
}

func (d entryPoint) list(t testing.TB) reply { return d.send(t, request{path: "/pets"}) }

func lastRequest(t testing.TB, srv *fake.Server) fake.Request {
	t.Helper()
	require.NotEmpty(t, srv.Requests())
	return srv.Requests()[len(srv.Requests())-1]
}

// create is a request for a new pet.
func create(name string) request {
	return request{path: "/pets", body: fmt.Sprintf(`{"name":%q,"categoryId":1}`, name)}
}

// recorder is a TB that records the log and the errors of a test. Its end stands for that of the test.
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

// No test leaves a goroutine behind.
func TestMain(m *testing.M) {
	testkit.SkipExamples()
	goleak.VerifyTestMain(m)
}

func with(opts ...fake.Option) []fake.Option { return opts }

// admitted sends requests until one is refused, and returns how many were admitted.
func (d entryPoint) admitted(t *testing.T) (n int, r reply) {
	t.Helper()
	for r = d.list(t); r.status == http.StatusOK; r = d.list(t) {
		n++
		require.LessOrEqual(t, n, 100, "no request is refused")
	}
	return n, r
}

// rules returns the rules that were broken so far, in order.
func rules(srv *fake.Server) (broken []fake.Rule) {
	for _, v := range srv.Violations() {
		broken = append(broken, v.Rule)
	}
	return broken
}

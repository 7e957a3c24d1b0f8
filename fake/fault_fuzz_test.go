package fake_test

import (
	"net/http"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// FuzzFault injects any Fault that a test may write. Inject refuses it, or the client sees what its
// fields say, the same through HTTPClient and Transport.
func FuzzFault(f *testing.F) {
	f.Add("", 503, "overloaded", "come back", "3", "X-Trace", "abc", []byte(nil), 0, 0.0, false)
	f.Add("createPet", 429, "", "", "Fri, 31 Dec 9999 23:59:59 GMT", "Retry-After", "9223372036854775808", []byte("{}"), 0, 1.0, true)
	f.Add("listPets", 200, "", "", "", "Content-Type", "text/html", []byte("<p>"), 3, 0.0, false)
	f.Add("", 204, "", "", "", "content-encoding", "gzip", []byte("x"), 0, 0.0, false)
	f.Add("", 304, "", "", "-1", "", "", []byte{}, 3, 0.5, false)
	f.Add("getPets", 99, "c", "", "a\r\nb", "a b", "c\nd", []byte("\x00"), 8, -1.0, true)
	f.Add("listPets", 201, "", "", "", "a", "b", []byte("x"), 0, 0.0, false) // which strikes nothing
	f.Add("", 302, "", "", "NaN", "Location", "://", []byte(nil), 1, 0.0, false)
	f.Add("", 999, "", "\xff", "", "X-RateLimit-Reset", "never", []byte(nil), 2, 0.0, true)
	f.Add("", 0, "", "", "", "", "", []byte(nil), 4, 0.0, false)
	f.Add("", 0, "", "", "", "", "", []byte(nil), 7, 0.0, false)
	f.Fuzz(func(
		t *testing.T, operation string, status int, code, message, retryAfter, name, value string, body []byte, wire int,
		chance float64, after bool,
	) {
		fault := fake.Fault{
			Operation: operation, Status: status, Code: code, Message: message, RetryAfter: retryAfter, Body: body,
			Wire: fake.Wire(wire), Chance: chance, AfterCommit: after, Header: http.Header{name: {value}},
		}
		if fault.Wire == fake.WireStall || fault.Wire == fake.WireDrip || name == "" || concernsTheConnection(name) {
			return // they take their time, or are net/http's business
		}
		if !makesSense(fault) {
			return
		}
		direct, struck, errDirect := meet(t, fault, viaTransport)
		memory, _, errMemory := meet(t, fault, viaMemory)
		require.Equal(t, errDirect == nil, errMemory == nil, "%v, %v", errDirect, errMemory)
		assert.Equal(t, direct.status, memory.status)
		if errDirect != nil {
			return
		}
		assert.Equal(t, direct.body, memory.body)
		if !struck {
			return
		}
		if status >= 400 && body == nil {
			var e struct {
				Code, Message string
				Status        int
			}
			require.NoError(t, json.Unmarshal([]byte(direct.body), &e, json.MatchCaseInsensitiveNames(true)))
			assert.Equal(t, status, e.Status)
		}
		if body != nil && status != 204 && status != 304 && direct.status == status {
			assert.Equal(t, string(body), direct.body)
		}
	})
}

func TestFaultContentLength(t *testing.T) {
	for _, length := range []string{"0", "1", "2", "3", "5", "6", "01", "100", "-1", "a", "9223372036854775808"} {
		for _, wire := range []fake.Wire{fake.WireNone, fake.WireTruncate} {
			for _, status := range []int{0, 200, 204, 304, 404} {
				for _, body := range [][]byte{nil, []byte("x"), []byte("12345")} {
					f := fake.Fault{Status: status, Body: body, Wire: wire, Header: http.Header{"Content-Length": {length}}}
					if !makesSense(f) {
						continue
					}
					direct, _, errDirect := meet(t, f, viaTransport)
					memory, _, errMemory := meet(t, f, viaMemory)
					require.Equal(t, errDirect == nil, errMemory == nil, "%+v: %v, %v", f, errDirect, errMemory)
					if errDirect == nil {
						assert.Equal(t, direct.body, memory.body, "%+v", f)
					}
				}
			}
		}
	}
}

func concernsTheConnection(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Transfer-Encoding", "Connection", "Trailer", "Upgrade", "Content-Encoding", "Content-Length":
		return true
	}
	return false
}

// meet sends a create through an entry point to a server with the fault, and reports whether that
// struck.
func meet(t *testing.T, f fake.Fault, open func(testing.TB, *fake.Server) entryPoint) (reply, bool, error) {
	t.Helper()
	srv := fake.NewServer()
	defer srv.Close()
	injected := srv.Inject(f)
	r, err := open(t, srv).try(t, create("Rex"))
	assert.LessOrEqual(t, len(srv.Pets()), 1)
	return r, injected.Fired() == 1, err
}

// makesSense reports whether Inject takes the fault, and does not panic.
func makesSense(f fake.Fault) (ok bool) {
	srv := fake.NewServer()
	defer srv.Close()
	defer func() { ok = recover() == nil }()
	srv.Inject(f)
	return true
}

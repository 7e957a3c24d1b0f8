package petstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/link"
)

// TestResponseMemory counts the bytes that a flooded client allocates until it returns the error.
func TestResponseMemory(t *testing.T) {
	const bound = 10 << 20 // on the size of a body
	for want, row := range map[string]struct {
		code                 int
		start, repeated, end string
		length               int
	}{
		"404":                {404, "", " ", "", 2 * bound},
		"400":                {400, `{"message":"`, `\n`, `"}`, bound - 20},
		"larger than 10 MiB": {200, "[", onePet + ",", "]", 2 * bound},
		"unexpected EOF":     {200, "[", " ", "", 1},
	} {
		text := row.start + strings.Repeat(row.repeated, row.length/len(row.repeated)) + row.end
		client := newClient(t, responder(func(r *http.Request) (*http.Response, error) {
			resp := response(r, row.code, strings.NewReader(text))
			resp.ContentLength = 9 << 20 // also if the body is longer
			return resp, nil
		}), testKey)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := list(client)
		runtime.ReadMemStats(&after) // TotalAlloc counts garbage, too
		require.ErrorContains(t, err, want)
		assertShortLine(t, err)
		most := uint64(12*min(row.length, bound) + 1<<20) // the buffer doubles, and the decoder copies
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, most)
		if row.code >= 400 {
			assert.LessOrEqual(t, len(as[*petstore.APIError](t, err).Body), 4096)
		}
	}
}

// handler handles a request; conn is the number of its connection, from 1 on.
type handler func(w http.ResponseWriter, r *http.Request, conn int)

// answer is the success of a list, or of a create.
func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, "[]")
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, onePet)
}

// keepsSilent waits until the client has closed the connection, or given up the request.
func keepsSilent(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// connKey is the key under which a request's context has the server's end of the connection.
type connKey struct{}

// served returns a client whose transport dials to a server of HTTP/1 or HTTP/2.
func served(t *testing.T, isHTTP2 bool, handle handler, opts ...petstore.Option) *petstore.Client {
	t.Helper()
	protocols, dials := new(http.Protocols), new(atomic.Int64)
	protocols.SetHTTP1(!isHTTP2)
	protocols.SetUnencryptedHTTP2(isHTTP2)
	dial := func(context.Context, string, string) (net.Conn, error) {
		number := int(dials.Add(1))
		client, server := link.New()
		go link.Serve(server, &http.Server{
			Protocols:   protocols,
			Handler:     http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, number) }),
			ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		})
		return client, nil
	}
	inMemory := petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
		base.(*http.Transport).DialContext, base.(*http.Transport).Protocols = dial, protocols
		return base
	})
	opts = append([]petstore.Option{petstore.WithInsecureHTTP(), petstore.WithLimiter(nil), inMemory}, opts...)
	client, err := petstore.NewClient("http://service.test/v1", testKey, opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		time.Sleep(time.Second) // streams and connections end a moment after their calls
		client.CloseIdleConnections()
	})
	return client
}

// TestHTTP2Unprocessed has a server that sends a frame instead of the first response. If the frame
// says that the request was not processed, the client sends a write again.
func TestHTTP2Unprocessed(t *testing.T) {
	// The frames are those of RFC 9113, section 6. The first request of a connection is stream 1.
	goAway := func(last, code byte) string {
		return string([]byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, last, 0, 0, 0, code})
	}
	reset := func(code byte) string { return string([]byte{0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, code}) }
	for name, row := range map[string]struct {
		frame       string
		closes      bool // the connection, after the frame
		unprocessed bool // and so the client sends the request again
	}{
		"GOAWAY before the stream":                {frame: goAway(0, 0), unprocessed: true},
		"GOAWAY before the stream, and closed":    {frame: goAway(0, 0), closes: true, unprocessed: true},
		"REFUSED_STREAM":                          {frame: reset(7), unprocessed: true},
		"PROTOCOL_ERROR, and the pet is there":    {frame: reset(1)},
		"GOAWAY after the stream, and it is lost": {frame: goAway(1, 0), closes: true},
		"the loss of its connection":              {closes: true},
	} {
		for write, call := range map[string]callFunc{"a create": create, "DELETE": do("DELETE"), "PUT": do("PUT")} {
			virtual(t, write+" that meets "+name, func(t *testing.T) {
				var requests atomic.Int64
				client := served(t, true, func(w http.ResponseWriter, r *http.Request, _ int) {
					if requests.Add(1) != 2 {
						w.Header().Set("Connection", "close") // so that the next request has a connection of its own
						answer(w, r)
						return
					}
					conn := r.Context().Value(connKey{}).(net.Conn)
					synctest.Wait() // the server's own first frame must come before this one
					_, _ = io.WriteString(conn, row.frame)
					if row.closes {
						_ = conn.Close()
					}
					keepsSilent(r)
				})
				require.NoError(t, list(client)) // then the client knows the protocol
				err := call(client)
				assert.Equal(t, row.unprocessed, err == nil, "%v", err)
				assert.Equal(t, !row.unprocessed, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
				assert.Equal(t, row.unprocessed, requests.Load() == 3, "%d requests", requests.Load())
			})
		}
	}
}

// withIdle is like served, for a client that has idle connections. The handler later gets its next
// requests.
func withIdle(
	t *testing.T, isHTTP2 bool, idle int, later handler, opts ...petstore.Option,
) *petstore.Client {
	t.Helper()
	var opened sync.WaitGroup
	var first atomic.Int64
	client := served(t, isHTTP2, func(w http.ResponseWriter, r *http.Request, conn int) {
		if first.Add(1) > 2*int64(idle) {
			later(w, r, conn)
			return
		}
		assert.LessOrEqual(t, conn, idle, "the connections are kept")
		opened.Done()
		opened.Wait() // so that each of the first requests needs a connection
		answer(w, r)
	}, opts...)
	for range 2 {
		opened.Add(idle)
		for range idle {
			go func() { assert.NoError(t, create(client)) }()
		}
		synctest.Wait()
	}
	return client
}

// A firewall may silently drop idle connections. The first call over such a connection runs into
// its timeout. Then the client closes the other idle connections, and keeps the new one.
func TestDeadConnections(t *testing.T) {
	for protocol, isHTTP2 := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		idle := map[bool]int{false: 64, true: 1}[isHTTP2]
		for name, row := range map[string]struct {
			call   callFunc
			failed int
		}{"reads": {list, 0}, "writes": {create, 1}} {
			virtual(t, protocol+", "+name, func(t *testing.T) {
				client := withIdle(t, isHTTP2, idle, func(w http.ResponseWriter, r *http.Request, conn int) {
					if conn <= idle {
						keepsSilent(r)
						return
					}
					assert.Equal(t, idle+1, conn)
					answer(w, r)
				})
				start, failed := time.Now(), 0
				for range 20 {
					if err := row.call(client); err != nil {
						require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
						failed++
					}
				}
				assert.Equal(t, row.failed, failed)
				assert.Less(t, time.Since(start), 31*time.Second, "one timeout, and a backoff")
			})
		}
	}
}

func TestReusedConnection(t *testing.T) {
	virtual(t, "a second attempt that loses its connection is followed by a pause", func(t *testing.T) {
		requests := 0
		client := withIdle(t, false, 1, func(w http.ResponseWriter, r *http.Request, _ int) {
			switch requests++; requests {
			case 1:
				w.WriteHeader(http.StatusInternalServerError)
			case 2:
				panic(http.ErrAbortHandler)
			default:
				answer(w, r)
			}
		})
		start := time.Now()
		require.NoError(t, list(client))
		assert.Equal(t, 3, requests)
		assert.GreaterOrEqual(t, time.Since(start), 750*time.Millisecond, "half of both backoffs")
	})
	for end, want := range map[string]error{"the context": context.Canceled, "WithStop": petstore.ErrStopped} {
		virtual(t, "a call that ends by "+end+" closes no other connection", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			client := withIdle(t, false, 2, func(w http.ResponseWriter, r *http.Request, conn int) {
				assert.LessOrEqual(t, conn, 2)
				if ctx.Err() == nil {
					cancel()
					keepsSilent(r)
					return
				}
				answer(w, r)
			})
			stops, err := client.ForKey("key-of-a-tenant", petstore.WithStop(ctx))
			require.NoError(t, err)
			if want == context.Canceled {
				err = listFor(ctx, client)
			} else {
				err = list(stops)
			}
			require.ErrorIs(t, err, want)
			require.NoError(t, list(client))
		})
	}
	virtual(t, "a read succeeds although the caller's idle connections are all dead", func(t *testing.T) {
		transport := &http.Transport{MaxIdleConnsPerHost: 8}
		defer transport.CloseIdleConnections()
		client := withIdle(t, false, 8, func(w http.ResponseWriter, r *http.Request, conn int) {
			if conn <= 8 {
				panic(http.ErrAbortHandler)
			}
			answer(w, r)
		}, petstore.WithHTTPClient(&http.Client{Transport: transport}))
		require.NoError(t, list(client))
	})
	for protocol, isHTTP2 := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		virtual(t, "the retry of a read that an idle connection lost is free only over HTTP/1: "+protocol, func(t *testing.T) {
			used, failed := map[int]bool{}, 0
			client := served(t, isHTTP2, func(w http.ResponseWriter, r *http.Request, conn int) {
				if used[conn] {
					panic(http.ErrAbortHandler)
				}
				used[conn] = true
				answer(w, r)
			})
			for range 200 {
				if list(client) != nil {
					failed++
				}
			}
			assert.Equal(t, isHTTP2, failed > 0)
		})
	}
}

// A service closes each idle connection once it has read a request on it. net/http would repeat a
// request without a body on each connection. The client repeats only a read, once and without a
// pause. A client for another key, on the same connections, does the same. The client knows already
// that the service speaks HTTP/1: it sends no chunked body that is empty, because few servers
// expect one.
func TestWriteIsSentOnce(t *testing.T) {
	for method, in := range map[string]any{"POST": nil, "PUT": nil, "PATCH": 1, "DELETE": nil, "GET": nil} {
		virtual(t, method, func(t *testing.T) {
			requests := 0
			client := withIdle(t, false, 4, func(w http.ResponseWriter, r *http.Request, conn int) {
				assert.Empty(t, r.TransferEncoding)
				assert.Equal(t, in != nil, r.ContentLength != 0)
				if requests++; conn <= 4 {
					panic(http.ErrAbortHandler)
				}
				answer(w, r)
			})
			tenant, err := client.ForKey("another-key")
			require.NoError(t, err)
			start := time.Now()
			_, err = tenant.Do(t.Context(), method, "pets/7", in, nil)
			assert.Equal(t, method != "GET", errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
			assert.Equal(t, method == "GET", requests == 2, "%d requests", requests)
			assert.Less(t, time.Since(start), 10*time.Millisecond)
		})
	}
}

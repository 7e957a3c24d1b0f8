package bench_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
)

// bound is the number of bytes of a body that our client reads by default.
const bound = 10 << 20

// BenchmarkLargeBody measures the memory that one call with a large body needs: what it allocates
// in all, and the most at a time. Bodies beyond the bound are for ours alone: the others read until
// there is no memory left.
func BenchmarkLargeBody(b *testing.B) {
	for _, body := range largeBodies() {
		for i, p := range peer.WithOwnTransport() {
			if body.endless && i > 0 {
				break
			}
			b.Run(fmt.Sprintf("body=%s/client=%s", body.name, p.Name), func(b *testing.B) {
				b.ReportAllocs()
				var most uint64
				for b.Loop() {
					client, err := p.New(peer.Target{BaseURL: "http://127.0.0.1/v1", Transport: body.transport()})
					require.NoError(b, err)
					grown := peakHeap(func() { _, err = client.Call(b.Context(), canned.List100) })
					require.Equal(b, body.endless, err != nil, "%v", err)
					most = max(most, grown)
				}
				b.ReportMetric(float64(most), "peak-B")
			})
		}
	}
}

// peakHeap returns by how many bytes the heap grows at most while f runs, garbage included. It
// reads the size all the time, so that it misses only what lasts a few microseconds.
func peakHeap(f func()) uint64 {
	objects := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 { metrics.Read(objects); return objects[0].Value.Uint64() }
	runtime.GC()
	runtime.GC() // the second frees what pools keep
	var done atomic.Bool
	base := read()
	peak := base
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			peak = max(peak, read())
			runtime.Gosched()
		}
	})
	f()
	done.Store(true)
	wg.Wait()
	return peak - base
}

// largeBody is a response, ready to be written to a connection.
type largeBody struct {
	name    string
	header  string
	body    []byte
	repeat  bool // body is written again and again
	endless bool // the response exceeds every bound
}

func largeBodies() []largeBody {
	const chunked = "Transfer-Encoding: chunked\r\n"
	withLength := func(b []byte) string { return fmt.Sprintf("Content-Length: %d\r\n", len(b)) }
	list := longList(bound)
	chunk := append([]byte("10000\r\n"), bytes.Repeat([]byte{' '}, 0x10000)...)
	chunk = append(chunk, "\r\n"...)
	bomb := compressed(128 << 20)
	return []largeBody{
		{name: "10MiB", header: withLength(list), body: list},
		{name: "10MiB-chunked", header: chunked, body: fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(list), list)},
		{name: "no-end", header: chunked, body: chunk, repeat: true, endless: true},
		{name: "128MiB-in-gzip", header: "Content-Encoding: gzip\r\n" + withLength(bomb), body: bomb, endless: true},
	}
}

// longList returns a list of 100 pets with long names, a little shorter than size.
func longList(size int) []byte {
	pets := canned.Pets(100)
	for i := range pets {
		pets[i].Name = strings.Repeat("x", size/len(pets)-100)
	}
	text, err := json.Marshal(pets)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return text
}

func compressed(size int) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(bytes.Repeat([]byte{' '}, size)) // into memory
	_ = w.Close()
	return out.Bytes()
}

// transport returns net/http's, on connections in memory whose other end gives the response and
// allocates next to nothing.
func (l largeBody) transport() http.RoundTripper {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go l.respond(far)
			return near, nil
		},
	}
}

func (l largeBody) respond(conn net.Conn) {
	defer conn.Close()
	request := bufio.NewReader(conn)
	for line := "-"; line != "\r\n"; {
		var err error
		if line, err = request.ReadString('\n'); err != nil {
			return
		}
	}
	header := canned.ResponseTo(canned.List100).Header
	header.Del("Content-Length")
	var head strings.Builder
	head.WriteString("HTTP/1.1 200 OK\r\n" + l.header)
	_ = header.Write(&head)
	_, err := io.WriteString(conn, head.String()+"\r\n")
	for again := true; err == nil && again; again = l.repeat {
		_, err = conn.Write(l.body)
	}
}

func TestLargeBodies(t *testing.T) {
	for _, body := range largeBodies() {
		t.Run(body.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/v1/pets", nil)
			require.NoError(t, err)
			resp, err := body.transport().RoundTrip(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 2*bound))
			require.NoError(t, err)
			if body.endless {
				assert.EqualValues(t, 2*bound, n)
				return
			}
			assert.LessOrEqual(t, n, int64(bound))
			assert.Greater(t, n, int64(bound*99/100))
		})
	}
}

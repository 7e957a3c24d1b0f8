package wire

import (
	"context"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Over HTTP/2, net/http calls the hooks of one request from two goroutines.
func TestRepetition(t *testing.T) {
	for _, c := range []struct {
		name     string
		hooks    string // of all requests: a connection, a header written, a first byte of a response
		repeated bool
	}{
		{"sees a second request without a response to the first", "cwc", true},
		{"allows a request of a transport after a response", "cwrcwr", false},
		{"allows one after a response that came before the hook of the header", "crwcrwcwr", false},
		{"sees a repetition after such a response", "crwcwc", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := Record{Transport: new(Transport)}
			ctx, cancel := context.WithCancel(t.Context())
			hooks := httptrace.ContextClientTrace(w.Watch(ctx, cancel, nil))
			for _, hook := range c.hooks {
				map[rune]func(){
					'c': func() { hooks.GotConn(httptrace.GotConnInfo{}) },
					'w': hooks.WroteHeaders, 'r': hooks.GotFirstResponseByte,
				}[hook]()
			}
			assert.Equal(t, c.repeated, w.Repeated())
			assert.Equal(t, c.repeated, ctx.Err() != nil)
			cancel()
		})
	}
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, start := make(chan struct{}), time.Now()
		Within(time.Second, func() { <-release })
		assert.Equal(t, time.Second+guardGrace, time.Since(start), "a function that hangs is left behind")
		start = time.Now()
		Within(time.Second, func() { time.Sleep(time.Millisecond) })
		assert.Equal(t, time.Millisecond, time.Since(start))
		close(release)
	})
}

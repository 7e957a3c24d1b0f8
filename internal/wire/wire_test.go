package wire

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/deadline"
)

// net/http copies a body of unknown length with io.Copy, which needs a buffer of 32 KiB unless the
// body has a method WriteTo.
func TestEmptyBody(t *testing.T) {
	t.Run("is copied without a buffer", func(t *testing.T) {
		var body emptyBody
		var target struct{ io.Writer } // has no ReadFrom
		target.Writer = io.Discard
		allocations := testing.AllocsPerRun(100, func() {
			_, err := io.Copy(&target, body)
			require.NoError(t, err)
		})
		assert.Zero(t, allocations)
	})
}

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
			var w Record
			w.SetBody(new(Transport), new(http.Request), nil, true, false)
			var attempt deadline.Context
			attempt.Begin(t.Context(), nil, nil, time.Now(), 0)
			hooks := httptrace.ContextClientTrace(w.Watch(&attempt, false))
			for _, hook := range c.hooks {
				map[rune]func(){
					'c': func() { hooks.GotConn(httptrace.GotConnInfo{}) },
					'w': hooks.WroteHeaders, 'r': hooks.GotFirstResponseByte,
				}[hook]()
			}
			assert.Equal(t, c.repeated, w.Repeated())
		})
	}
}

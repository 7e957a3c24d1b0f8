package fake_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestFaultWire(t *testing.T) {
	t.Run("the client sees each wire as itself", func(t *testing.T) {
		checks := map[fake.Wire]func(*testing.T, error){
			fake.WireReset: func(t *testing.T, err error) { assert.ErrorIs(t, err, syscall.ECONNRESET) },
			fake.WireClose: func(t *testing.T, err error) {
				assert.True(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
			},
			fake.WireTruncate: func(t *testing.T, err error) { assert.ErrorIs(t, err, io.ErrUnexpectedEOF) },
			fake.WireGarbage: func(t *testing.T, err error) {
				assert.ErrorContains(t, err, "malformed HTTP response")
			},
		}
		for _, wire := range fake.Wire("").Values() {
			check := checks[wire]
			if wire == fake.WireStall || wire == fake.WireLoginPage || wire == fake.WireRefuse {
				continue // which have tests of their own below
			}
			require.NotNil(t, check, "%v has no check", wire)
			throughEveryEntryPoint(t, string(wire), nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
				d.list(t) // so that sockets are kept and used again
				for _, q := range []request{{path: "/pets"}, create("Rex")} {
					injected := srv.Inject(fake.Fault{Wire: wire})
					_, err := d.try(t, q)
					require.Error(t, err)
					check(t, err)
					assert.Equal(t, 1, injected.Fired())
				}
				last := lastRequest(t, srv)
				assert.Equal(t, wire == fake.WireTruncate, last.StatusCode != 0)
				assert.Equal(t, wire == fake.WireTruncate, last.ResponseHeader != nil)
				assert.Equal(t, wire == fake.WireTruncate, len(last.ResponseBody) > 0)
				assert.Len(t, srv.Pets(), map[bool]int{true: 1, false: 0}[wire == fake.WireTruncate])
			})
		}
	})
	throughEveryEntryPoint(t, "a stall lasts until the client gives up",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			err := d.giveUpOn(t, srv, fake.Fault{Wire: fake.WireStall}, create("Rex"))
			require.ErrorIs(t, err, context.Canceled)
			assert.Empty(t, srv.Pets())
			assert.Zero(t, srv.Requests()[0].StatusCode)
		})
	throughEveryEntryPoint(t, "nothing reaches the server if the connection is refused",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			var seen string
			injected := srv.Inject(fake.Fault{Wire: fake.WireRefuse, Match: func(r *http.Request) bool {
				body, _ := io.ReadAll(r.Body)
				seen = r.Method + " " + r.URL.String() + string(body)
				return true
			}})
			_, err := d.try(t, create("Rex"))
			require.Error(t, err)
			if !strings.Contains(d.base, "://service.test") { // the connection was there already
				assert.ErrorIs(t, err, syscall.ECONNRESET)
			} else {
				assert.ErrorIs(t, err, syscall.ECONNREFUSED)
				opErr, ok := errors.AsType[*net.OpError](err)
				require.True(t, ok)
				assert.Equal(t, "dial", opErr.Op)
			}
			assert.Equal(t, 1, injected.Fired())
			assert.Equal(t, "POST /v1/pets", seen)
			assert.Empty(t, srv.Requests())
			assert.Zero(t, srv.Usage(srv.APIKey()).Minute)
			assert.Equal(t, http.StatusCreated, d.send(t, create("Rex")).status)
		})
	t.Run("a refusal comes before other faults", func(t *testing.T) {
		srv, d := open(t)
		srv.Inject(fake.Fault{Status: 500})
		srv.Inject(fake.Fault{Wire: fake.WireRefuse, Operation: petstore.OpListPets})
		assert.Equal(t, 500, d.send(t, create("Rex")).status)
		srv.Inject(fake.Fault{Status: 500})
		_, err := d.try(t, request{path: "/pets"})
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Equal(t, 500, d.list(t).status)
	})
	inBubble(t, "a body that drips ends after its time", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		srv.Inject(fake.Fault{Drip: time.Second, Body: []byte("0123456789")})
		start := time.Now()
		assert.Equal(t, "0123456789", d.list(t).body)
		assert.Equal(t, time.Second, time.Since(start))
	})
	inBubble(t, "a refusal may take a while", nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
		start := time.Now()
		srv.Inject(fake.Fault{Wire: fake.WireRefuse, Delay: 5 * time.Second, Times: 2})
		_, err := d.try(t, request{path: "/pets"})
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Equal(t, 5*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = d.do(request{path: "/pets"}.build(t, d.base).WithContext(ctx))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		dial, ok := errors.AsType[*net.OpError](err)
		assert.True(t, ok && dial.Op == "dial", "it was never connected: %v", err)
		assert.Equal(t, 6*time.Second, time.Since(start))
		assert.Empty(t, srv.Requests())
	})
	throughEveryEntryPoint(t, "an empty body can be truncated",
		nil, func(t *testing.T, srv *fake.Server, d entryPoint) {
			srv.Inject(fake.Fault{Wire: fake.WireTruncate, Body: []byte{}})
			_, err := d.try(t, request{path: "/pets"})
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		})
}

package fake_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

// wrapper is a user's transport that sends through another one.
type wrapper struct {
	base http.RoundTripper
	send func(base http.RoundTripper, r *http.Request) (*http.Response, error)
}

func (w wrapper) RoundTrip(r *http.Request) (*http.Response, error) { return w.send(w.base, r) }
func (w wrapper) Unwrap() http.RoundTripper                         { return w.base }

// opaque is a wrapper that does not say what is below it.
type opaque struct{ wrapper wrapper }

func (o opaque) RoundTrip(r *http.Request) (*http.Response, error) { return o.wrapper.RoundTrip(r) }

// What a program makes of the client's own transport has the same outcome in memory and on a socket.
func TestRecipes(t *testing.T) {
	loopback.Host(t)
	errMine := errors.New("mine")
	before := func(http.RoundTripper, *http.Request) (*http.Response, error) { return nil, errMine }
	reading := func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = io.CopyN(io.Discard, r.Body, 1)
			_ = r.Body.Close()
		}
		return nil, errMine
	}
	after := func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, errors.Join(errMine, err)
	}
	wrapped := func(send func(http.RoundTripper, *http.Request) (*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
		return func(base http.RoundTripper) http.RoundTripper { return wrapper{base, send} }
	}
	hidden := func(send func(http.RoundTripper, *http.Request) (*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
		return func(base http.RoundTripper) http.RoundTripper { return opaque{wrapper{base, send}} }
	}
	changed := func(change func(*http.Transport)) func(http.RoundTripper) http.RoundTripper {
		return func(base http.RoundTripper) http.RoundTripper {
			clone := base.(*http.Transport).Clone()
			change(clone)
			return clone
		}
	}
	for name, wrap := range map[string]func(http.RoundTripper) http.RoundTripper{
		"a clone with a certificate": changed(func(tr *http.Transport) {
			tr.TLSClientConfig = &tls.Config{Certificates: []tls.Certificate{{}}}
		}),
		"a clone with small bounds":       changed(func(tr *http.Transport) { tr.MaxResponseHeaderBytes = 64 }),
		"a wrapper that sends":            wrapped(http.RoundTripper.RoundTrip),
		"a wrapper that fails before":     wrapped(before),
		"a wrapper that fails within":     wrapped(reading),
		"a wrapper that fails after":      wrapped(after),
		"an opaque one that sends":        hidden(http.RoundTripper.RoundTrip),
		"an opaque one that fails before": hidden(before),
		"an opaque one that fails within": hidden(reading),
		"an opaque one that fails after":  hidden(after),
		"a dial that fails": changed(func(tr *http.Transport) {
			tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: errMine}
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			outcome := func(client *petstore.Client, srv *fake.Server) string {
				_, read := client.ListPets(t.Context(), petstore.ListPetsParams{})
				_, write := client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 1})
				is := func(err error) [3]bool {
					return [3]bool{err == nil, errors.Is(err, petstore.ErrNotSent), errors.Is(err, petstore.ErrOutcomeUnknown)}
				}
				return fmt.Sprint(is(read), is(write), len(srv.Requests()), len(srv.Pets()))
			}
			opts := []petstore.Option{petstore.WithTransport(wrap), petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1})}
			inMemory, outside := fake.NewTestServer(t), fake.NewTestServer(t)
			client, err := petstore.NewClient(outside.URL(), outside.APIKey(), opts...)
			assert.NoError(t, err)
			defer client.CloseIdleConnections()
			assert.Equal(t, outcome(client, outside), outcome(inMemory.Client(opts...), inMemory))
		})
	}
}

package petstore_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

// userTransports send more than one request in the context of one, as transports of users do.
var userTransports = map[string]func(base http.RoundTripper, r *http.Request) (*http.Response, error){
	"logs with httputil.DumpRequestOut": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		if _, err := httputil.DumpRequestOut(r, true); err != nil {
			return nil, err
		}
		return base.RoundTrip(r)
	},
	"fetches a token before each request": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		if err := fetch(base, r); err != nil {
			return nil, err
		}
		authorized := r.Clone(r.Context())
		authorized.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
		return base.RoundTrip(authorized)
	},
	"sends a read again after a 503": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return base.RoundTrip(r)
	},
}

// fetch sends a request in the context of r and drops its response.
func fetch(base http.RoundTripper, r *http.Request) error {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.URL.JoinPath("token").String(), nil)
	if err != nil {
		return err
	}
	resp, err := base.RoundTrip(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	return err
}

func TestWithHTTPClientOverTLS(t *testing.T) {
	t.Parallel()
	loopback.Need(t)
	for name, roundTrip := range userTransports {
		for protocol, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
			t.Run("takes a transport that "+name+", over "+protocol, func(t *testing.T) {
				t.Parallel()
				service := fake.NewTestServer(t)
				server := httptest.NewUnstartedServer(service)
				server.EnableHTTP2 = http2
				server.StartTLS()
				t.Cleanup(server.Close)
				base := server.Client().Transport
				users := responder(func(r *http.Request) (*http.Response, error) { return roundTrip(base, r) })
				client, err := petstore.NewClient(server.URL+"/v1", fake.DefaultAPIKey,
					petstore.WithHTTPClient(&http.Client{Transport: users}))
				require.NoError(t, err)
				for range 2 { // the second call knows the protocol
					if name == "sends a read again after a 503" {
						service.Inject(fake.Fault{Operation: fake.OpListPets, Status: http.StatusServiceUnavailable})
					}
					listed, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
					require.NoError(t, err)
					assert.Equal(t, 1, listed.Attempts)
					_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
					require.NoError(t, err)
				}
			})
		}
	}
}

package canned_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/bench/internal/canned"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTransport(t *testing.T) {
	t.Run("gives the same responses as the server", func(t *testing.T) {
		srv := httptest.NewServer(canned.NewHandler())
		defer srv.Close()
		for _, o := range canned.Operations() {
			stub := send(t, canned.NewTransport(), "http://127.0.0.1", o)
			network := send(t, http.DefaultTransport, srv.URL, o)
			assert.NotEmpty(t, stub.header.Get("Date"))
			network.header.Set("Date", stub.header.Get("Date"))
			assert.Equal(t, stub, network, o.String())
			assert.Equal(t, canned.ResponseTo(o).Status, stub.status, o.String())
			assert.Len(t, stub.header, 6, o.String())
		}
	})
}

type response struct {
	status int
	line   string
	header http.Header
	body   string
	length int64
}

func send(t *testing.T, via http.RoundTripper, host string, o canned.Operation) response {
	t.Helper()
	method, path := http.MethodGet, map[canned.Operation]string{
		canned.List20: "?limit=20", canned.List100: "?limit=100", canned.Create: "",
		canned.Get: "/4711", canned.NotFound: "/404404",
	}[o]
	if o == canned.Create {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, host+"/v1/pets"+path, strings.NewReader("{}"))
	require.NoError(t, err)
	resp, err := via.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return response{resp.StatusCode, resp.Status, resp.Header, string(body), resp.ContentLength}
}

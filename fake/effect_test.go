package fake_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func TestFault_Effect(t *testing.T) {
	for want, f := range map[string]fake.Fault{
		"no change": {Operation: petstore.OpGetPet, Times: fake.Forever, Chance: 0.5},
		"carried out, delayed by 2s, status 503, code busy, message \"later\", Retry-After 5, " +
			"header X-A: 1, 2, no header X-B, another body of 2 bytes, body cut off after its first half": {
			AfterCommit: true, Delay: 2 * time.Second, Status: 503, Code: "busy", Message: "later", RetryAfter: "5",
			Header: http.Header{"X-B": nil, "X-A": {"1", "2"}}, Body: []byte("{}"), Wire: fake.WireTruncate,
		},
	} {
		assert.Equal(t, want, fakecontrol.Effect(f))
	}
}

func TestRequest_FaultEffect(t *testing.T) {
	t.Run("says what a fault did to a response with status 200, without a key", func(t *testing.T) {
		srv := fake.NewTestServer(t)
		srv.Inject(fake.Fault{Header: http.Header{"X-Trace": {fake.DefaultAPIKey}}})
		d := viaTransport(t, srv)
		d.list(t)
		d.list(t)
		requests := srv.Requests()
		require.Len(t, requests, 2)
		assert.Equal(t, 200, requests[0].StatusCode)
		assert.Equal(t, "header X-Trace: [redacted]", requests[0].FaultEffect)
		assert.Empty(t, requests[1].FaultEffect)
	})
}

func TestInjection_Until(t *testing.T) {
	srv := fakecontrol.New("", nil)
	i := srv.Inject(fake.Fault{Status: 503, For: time.Minute})
	assert.WithinDuration(t, srv.Now().Add(time.Minute), i.Until, 10*time.Second)
	assert.Zero(t, srv.Inject(fake.Fault{Status: 503}).Until)
}

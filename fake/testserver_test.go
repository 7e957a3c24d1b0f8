package fake_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestNewTestServer(t *testing.T) {
	t.Run("closes itself and is silent about success", func(t *testing.T) {
		tb := &recorder{}
		srv := fake.NewTestServer(tb)
		viaMemory(t, srv).list(t)
		tb.end()
		assert.Empty(t, tb.errors.String())
		assert.Empty(t, tb.log.String())
		_, err := viaMemory(t, srv).try(t, request{path: "/pets"})
		assert.Error(t, err)
	})
	t.Run("prints the journal of a failed test", func(t *testing.T) {
		tb := &recorder{}
		srv := fake.NewTestServer(tb, fake.WithClock(func() time.Time { return time.Unix(1_000_000_000, 0) }))
		d := viaMemory(t, srv)
		d.send(t, create("Rex"))
		srv.Advance(1500 * time.Millisecond)
		d.send(t, request{path: "/pets?limit=0&key=" + srv.APIKey()})
		srv.Inject(fake.Fault{Wire: fake.WireClose})
		_, err := d.try(t, request{path: "/pets"})
		require.Error(t, err)
		tb.Errorf("something else")
		tb.end()
		assert.Equal(t, `fake: the server of TestImport served 3 requests
	+0s #1 POST /v1/pets "{\"name\":\"Rex\",\"categoryId\":1}" → 201
	+1.5s #2 GET /v1/pets?limit=0&key=[redacted] → 400: listPets: limit is "0"; it must be an integer from 1 to 100 (section 4.1)
	+1.5s #3 GET /v1/pets → no response, by a fault: injected fault by close
`, tb.log.String())
	})
	t.Run("prints no more than the last 100 requests", func(t *testing.T) {
		tb := &recorder{}
		d := viaMemory(t, fake.NewTestServer(tb))
		for range 102 {
			d.list(t)
		}
		tb.Errorf("something else")
		tb.end()
		assert.Regexp(t, `^fake: the server of TestImport served 102 requests, the last 100 of them\n\t\S+ #3 `, tb.log.String())
	})
	t.Run("a fault that never struck fails the test", func(t *testing.T) {
		tb := &recorder{}
		srv := fake.NewTestServer(tb)
		srv.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: 500})
		srv.Inject(fake.Fault{Wire: fake.WireReset, Skip: 5})
		srv.Inject(fake.Fault{Status: 502}).Remove()
		srv.Inject(fake.Fault{Status: 503, Chance: 1e-9, Times: fake.Forever})
		fired := srv.Inject(fake.Fault{Status: 504, Times: 9, Match: func(r *http.Request) bool {
			return r.URL.RawQuery == "limit=1"
		}})
		srv.Inject(fake.Fault{Status: 505, Chance: 1e-9, Skip: 1})
		d := viaMemory(t, srv)
		d.list(t)
		d.send(t, request{path: "/pets?limit=1"})
		assert.Equal(t, 1, fired.Fired())
		tb.end()
		assert.Equal(t, `fake: an injected fault never struck: fault on createPet with status 500; 0 fitting requests came, Skip is 0
fake: an injected fault never struck: fault by reset; 2 fitting requests came, Skip is 5
fake: an injected fault never struck: fault with status 505; 1 fitting requests came, Skip is 1
`, tb.errors.String())
	})
}

package fake_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestNewTestServer(t *testing.T) {
	t.Run("closes itself, and says nothing about success", func(t *testing.T) {
		tb := &recorder{}
		rules := []fake.Rule{fake.RuleDeprecated}
		strict := fake.WithStrict(rules...)
		rules[0] = fake.RuleEarlyRetry // the option has a copy
		srv := open(tb, strict, fake.WithStrict(rules...))
		srv.send(t, request{path: "/pets/1"}) // a violation of an allowed rule
		tb.end()
		assert.Empty(t, tb.errors.String()+tb.log.String())
		_, err := srv.try(t, request{path: "/pets"})
		assert.Error(t, err)
	})
	t.Run("a fault that never applied fails the test, which prints the journal", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tb := &recorder{}
			srv := open(tb)
			for range 98 {
				srv.list(t)
			}
			srv.Inject(fake.Fault{Operation: petstore.OpGetPet, Delay: 1, Status: 500, Drip: 1, AfterCommit: true})
			srv.Inject(fake.Fault{Wire: fake.WireReset, Skip: 3})
			srv.Inject(fake.Fault{Status: 502}).Remove()
			srv.Inject(fake.Fault{Status: 503, Chance: 1e-9, Times: fake.Forever})
			srv.Inject(fake.Fault{Wire: fake.WireClose, Times: 9, Skip: 2})
			srv.send(t, create("Rex"))
			srv.Advance(1500 * time.Millisecond)
			srv.send(t, request{path: "/pets?limit=0&key=k"})
			_, _ = srv.try(t, request{path: "/pets"})
			tb.end()
			assert.Equal(t, `fake: an injected fault never applied: fault on getPet after 1ns with status 500 dripping for 1ns after commit; 0 requests matched, Skip is 0
fake: an injected fault never applied: fault by reset; 3 requests matched, Skip is 3
`, tb.errors.String())
			assert.Regexp(t, `^fake: the server of TestImport served 101 requests\n\t\+0s #2 GET`, tb.log.String())
			assert.Contains(t, tb.log.String(), `
	+0s #99 POST /v1/pets "{\"name\":\"Rex\",\"categoryId\":1}" → 201
	+1.5s #100 GET /v1/pets?limit=0&key=k → 400: listPets: limit is "0"; it must be an integer from 1 to 100 (section 4.1)
	+1.5s #101 GET /v1/pets → no response, by a fault: injected fault by close
`, tb.log.String())
		})
	})
}

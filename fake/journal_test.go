package fake_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestTheJournalTellsWhatArrivedAndWhatWasAnswered(t *testing.T) {
	throughEveryDoor(t, nil, func(t *testing.T, srv *fake.Server, d door) {
		q := create("Rex")
		q.path += "?dry=1"
		q.header = http.Header{"X-Trace": {"a", "b"}}
		before := time.Now()
		answer := d.send(t, q)
		require.Len(t, srv.Requests(), 1)
		r := srv.Requests()[0]
		assert.Equal(t, 1, r.Seq)
		assert.Equal(t, fake.OpCreatePet, r.Operation)
		assert.Equal(t, http.MethodPost, r.Method)
		assert.Equal(t, "/v1/pets?dry=1", r.Path)
		assert.Equal(t, []string{"a", "b"}, r.Header.Values("X-Trace"))
		assert.Equal(t, "Bearer [redacted]", r.Header.Get("Authorization"))
		assert.Equal(t, `{"name":"Rex","categoryId":1}`, string(r.Body))
		assert.Equal(t, answer.status, r.StatusCode)
		assert.Equal(t, answer.body, string(r.Answer))
		assert.WithinDuration(t, before, r.Time, 10*time.Second)
		assert.False(t, r.Fault)
		assert.Empty(t, r.Hint)
	})
}

func TestTheJournalNamesNoOperationWhereThereIsNone(t *testing.T) {
	srv := fake.NewTestServer(t)
	d := directDoor(t, srv)
	for _, q := range []request{{path: "/orders"}, {method: "PUT", path: "/pets"}, {method: "HEAD", path: "/pets/1"}} {
		d.send(t, q)
	}
	d.send(t, request{path: "/pets/1"})
	for i, want := range []string{"", "", "", fake.OpGetPet} {
		assert.Equal(t, want, srv.Requests()[i].Operation)
	}
}

func TestWhatTheJournalGivesOutIsACopy(t *testing.T) {
	srv := fake.NewTestServer(t)
	directDoor(t, srv).send(t, create("Rex"))
	r := srv.Requests()[0]
	r.Body[2], r.Answer[2] = 'X', 'X'
	r.Header.Set("Authorization", "gone")
	again := srv.Requests()[0]
	assert.Contains(t, string(again.Body), "name")
	assert.Contains(t, string(again.Answer), `"id"`)
	assert.Equal(t, "Bearer [redacted]", again.Header.Get("Authorization"))
}

func TestNoKeyIsInTheJournalWhereverAClientPutIt(t *testing.T) {
	const key = "s3cret/key+1=="
	srv := fake.NewTestServer(t, fake.WithKey(key, fake.PlanFree), fake.WithKey(key+"longer", fake.PlanFree))
	for _, auth := range []string{"Bearer " + key, "bearer " + key, "Basic " + key, key, "Bearer unknown-key"} {
		d := directDoor(t, srv)
		d.send(t, request{
			path: "/pets?" + url.QueryEscape(key) + "=1&key=" + url.QueryEscape(key) + "&status=" + url.QueryEscape(key), auth: auth,
			header: http.Header{"X-Api-Key": {key}, "Proxy-Authorization": {"Basic unknown-key"}},
		})
		d.send(t, request{path: "/pets/" + url.PathEscape(key), auth: auth})
		d.send(t, request{path: "/pets/" + key + "longer", auth: auth})
		d.send(t, request{path: "/pets", auth: auth, body: `{"name":"` + key + `","categoryId":1}`})
	}
	srv.RevokeKey(key)
	all := fmt.Sprintf("%+v %v", srv.Requests(), srv.Violations())
	for _, r := range srv.Requests() {
		all += string(r.Body) + string(r.Answer)
	}
	for _, secret := range []string{key, url.QueryEscape(key), url.PathEscape(key), "unknown-key", "longer"} {
		assert.NotContains(t, all, secret)
	}
	assert.NotContains(t, fmt.Sprintf("%v %+v", srv, srv), key)
}

func TestTheJournalIsBounded(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithJournal(3), fake.WithPlan(fake.Enterprise(0, 0)))
	d := directDoor(t, srv)
	for range 5 {
		d.list(t)
	}
	require.Len(t, srv.Requests(), 3)
	assert.Equal(t, 3, srv.Requests()[0].Seq)

	none := fake.NewTestServer(t, fake.WithJournal(0))
	directDoor(t, none).list(t)
	assert.Empty(t, none.Requests())
}

func TestTheJournalIsBoundedInBytesToo(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(0, 0)))
	d := directDoor(t, srv)
	q := request{method: http.MethodPut, path: "/pets", body: strings.Repeat("x", 1<<20)}
	for range 70 {
		d.send(t, q)
	}
	assert.Less(t, len(srv.Requests()), 70)
	assert.Equal(t, 70, srv.Requests()[len(srv.Requests())-1].Seq)
}

func TestAnEntryIsThereBeforeItsAnswer(t *testing.T) {
	srv := fake.NewTestServer(t)
	d := loopbackDoor(t, srv)
	for i := range 200 {
		d.list(t)
		entries := srv.Requests()
		require.Len(t, entries, i+1)
		require.Equal(t, http.StatusOK, entries[i].StatusCode)
	}
}

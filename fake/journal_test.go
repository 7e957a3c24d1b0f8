package fake_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestJournal(t *testing.T) {
	throughEveryEntryPoint(t, "holds request and response", func(t *testing.T, srv server) {
		srv.Inject(fake.Fault{Header: http.Header{"X-Trace": {"a", "b"}, "X-Ratelimit-Reset": nil}})
		q := create("Rex")
		q.path, q.auth = "/pets?dry=1", "bearer  "+srv.APIKey()
		q.header = http.Header{"X-Trace": {"a", "b"}}
		answer := srv.send(t, q)
		r := srv.last(t) // a copy: changes do not reach the journal
		r.Header["X-Trace"][0], r.Body[0] = "c", '!'
		r.ResponseHeader["X-Trace"][0], r.ResponseBody[0] = "c", '!'
		r = srv.last(t)
		assert.Equal(t, fake.Request{
			Seq: 1, Operation: petstore.OpCreatePet, Key: 1, Method: http.MethodPost, Path: "/v1/pets?dry=1",
			Header: r.Header, Body: []byte(`{"name":"Rex","categoryId":1}`),
			StatusCode: answer.status, ResponseHeader: r.ResponseHeader, ResponseBody: []byte(answer.body),
			Time: r.Time, Duration: r.Duration, FaultEffect: "fault",
		}, r)
		assert.Equal(t, []string{"a", "b"}, r.Header["X-Trace"])
		assert.Equal(t, []string{"Bearer [redacted]"}, r.Header["Authorization"])
		assert.Equal(t, answer.header["X-Trace"], r.ResponseHeader["X-Trace"])
		assert.Empty(t, r.ResponseHeader["X-Ratelimit-Reset"])
	})
}

func seqs(list []fake.Request) (seqs []int) {
	for _, r := range list {
		seqs = append(seqs, r.Seq)
	}
	return seqs
}

func TestRequests(t *testing.T) {
	srv := open(t, fake.WithKey("second-key", fake.PlanFree), fake.WithJournal(5))
	for i := range 8 {
		q := map[int]request{4: create("Rex"), 6: {auth: "Bearer unknown-key"}}[i]
		q.path = "/pets"
		srv.send(t, q)
	}
	_, err := srv.ClientFor("second-key").CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 7})
	require.NoError(t, err)
	assert.Equal(t, []int{5, 9}, seqs(srv.RequestsOf(petstore.OpCreatePet)))
	assert.Equal(t, []int{9}, seqs(srv.RequestsFor("second-key")))
	assert.Equal(t, []int{5, 6, 8}, seqs(srv.RequestsFor(srv.APIKey())))
	for _, c := range []struct {
		after, n int
		want     []int
	}{
		{0, 100, []int{5, 6, 7, 8, 9}}, {0, 2, []int{5, 6}}, {4, 1, []int{5}}, {6, 2, []int{7, 8}},
		{8, 9, []int{9}}, {9, 9, nil}, {99, 9, nil}, {-1, 1, []int{5}}, {6, 0, nil}, {6, -1, nil},
	} {
		assert.Equal(t, c.want, seqs(srv.RequestsAfter(c.after, c.n)), "after %d, %d", c.after, c.n)
	}
}

func TestWaitForRequests(t *testing.T) {
	inBubble(t, "without a journal", func(t *testing.T, srv server) {
		for i := range 3 {
			time.AfterFunc(time.Duration(i+1)*time.Second, func() { srv.list(t) })
		}
		start, all := time.Now(), sync.WaitGroup{}
		for n := range 4 { // each waits for another number
			all.Go(func() {
				assert.NoError(t, srv.WaitForRequests(t.Context(), n))
				assert.Equal(t, time.Duration(n)*time.Second, time.Since(start))
			})
		}
		all.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, io.ErrNoProgress)
		defer cancel()
		err := srv.WaitForRequests(ctx, 4)
		assert.EqualError(t, err, "fake: 3 of 4 requests arrived: "+io.ErrNoProgress.Error())
		assert.ErrorIs(t, err, io.ErrNoProgress)
		assert.Empty(t, srv.Requests())
	}, fake.WithJournal(0))
}

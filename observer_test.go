package petstore_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestARequestsContextTellsOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []petstore.Call
		note := func(a answer) answer {
			return func(req *http.Request) (*http.Response, error) {
				c, ok := petstore.CallFromContext(req.Context())
				assert.True(t, ok)
				seen = append(seen, c)
				return a(req)
			}
		}
		limited := append(quota(10, 0, 0), "Retry-After: 3")
		client, _ := scripted(t, []answer{
			note(status(429, `{}`, limited...)), note(status(200, onePet)),
			note(status(200, "[]")), note(status(201, onePet)),
		})

		_, err := client.GetPet(t.Context(), 7)
		require.NoError(t, err)
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
		require.NoError(t, err)

		require.Len(t, seen, 4)
		assert.GreaterOrEqual(t, seen[1].Waited, 3*time.Second)
		seen[1].Waited = 0
		assert.Equal(t, []petstore.Call{
			{Client: client, Operation: "getPet", Method: "GET", Template: "/v1/pets/{petId}", Attempt: 1},
			{Client: client, Operation: "getPet", Method: "GET", Template: "/v1/pets/{petId}", Attempt: 2},
			{Client: client, Operation: "listPets", Method: "GET", Template: "/v1/pets", Attempt: 1},
			{Client: client, Operation: "createPet", Method: "POST", Template: "/v1/pets", Attempt: 1},
		}, seen)
	})
}

// slow is a limiter of the caller's around the client's own.
type slow struct{ petstore.Limiter }

func (s slow) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	<-time.After(time.Second)
	return s.Limiter.Acquire(ctx, maxWait)
}

func TestWhatALimiterOfTheCallersTakesIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waited []time.Duration
		note := func(a answer) answer {
			return func(req *http.Request) (*http.Response, error) {
				c, _ := petstore.CallFromContext(req.Context())
				waited = append(waited, c.Waited)
				return a(req)
			}
		}
		client, _ := scripted(t, []answer{note(status(503, "")), note(status(200, "[]"))},
			petstore.WithLimiter(slow{petstore.NewLimiter()}))
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Equal(t, []time.Duration{time.Second, 2 * time.Second}, waited)
	})
}

func TestAContextOfNoCallTellsSo(t *testing.T) {
	t.Parallel()
	_, ok := petstore.CallFromContext(t.Context())
	assert.False(t, ok)
}

type markKey struct{}

// observer marks the context of each call, and keeps what it is told.
type observer struct {
	http.RoundTripper
	started []petstore.Call
	ended   []error
	marked  int // requests whose context has the mark
}

func (o *observer) CallStarted(ctx context.Context, c petstore.Call) (context.Context, func(error)) {
	o.started = append(o.started, c)
	return context.WithValue(ctx, markKey{}, true), func(err error) { o.ended = append(o.ended, err) }
}

func (o *observer) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Context().Value(markKey{}) != nil {
		o.marked++
	}
	return o.RoundTripper.RoundTrip(req)
}

func TestATransportMayObserveWholeCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, answers := scripted(t, []answer{status(503, ""), status(200, "[]"), status(200, "no JSON")})
		o := &observer{RoundTripper: answers}
		client, err := petstore.NewClient("https://service.test/v1", testKey,
			petstore.WithHTTPClient(&http.Client{Transport: o}))
		require.NoError(t, err)

		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		_, undecoded := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.Error(t, undecoded)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, unsent := client.ListPets(ctx, petstore.ListPetsParams{})
		require.ErrorIs(t, unsent, context.Canceled)
		_, invalid := client.ListPets(t.Context(), petstore.ListPetsParams{Limit: -1})
		require.Error(t, invalid)

		want := petstore.Call{Client: client, Operation: "listPets", Method: "GET", Template: "/v1/pets"}
		assert.Equal(t, []petstore.Call{want, want, want}, o.started, "what is invalid is no call")
		assert.Equal(t, []error{nil, undecoded, unsent}, o.ended)
		assert.Equal(t, 3, o.marked)
	})
}

// idle is an observer that has nothing to add.
type idle struct{ http.RoundTripper }

func (idle) CallStarted(context.Context, petstore.Call) (context.Context, func(error)) {
	return nil, nil
}

func TestAnObserverMayHaveNothingToAdd(t *testing.T) {
	t.Parallel()
	_, answers := scripted(t, []answer{status(200, "[]")})
	client, err := petstore.NewClient("https://service.test/v1", testKey,
		petstore.WithHTTPClient(&http.Client{Transport: idle{answers}}))
	require.NoError(t, err)
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	assert.NoError(t, err)
}

func TestAClientKnowsHowManyOfItsCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := scripted(t, []answer{
			status(200, "[]", quota(10, 0, time.Minute)...), status(200, "[]"),
		}, petstore.WithLimiter(petstore.NewLimiter()))
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		for range 3 {
			go func() { _, _ = client.ListPets(t.Context(), petstore.ListPetsParams{}) }()
		}
		synctest.Wait()
		assert.Equal(t, 3, client.Waiting())
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Zero(t, client.Waiting())
		assert.Zero(t, (*petstore.Client)(nil).Waiting())
	})
}

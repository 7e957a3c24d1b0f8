package limiter_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/limiter"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ limiter.Reopener = petstore.NewLimiter().(limiter.Reopener)

// asking is a limiter with a ticket and a wait for each request.
type asking struct {
	petstore.Limiter
	issued  uint64
	tickets []uint64
}

func (l *asking) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	l.tickets = append(l.tickets, limiter.Ticket(ctx, l, func() uint64 { l.issued++; return l.issued }))
	done := limiter.StartWait(ctx, petstore.Wait{Reason: "response", Waiting: 7})
	<-time.After(time.Second)
	done(time.Second)
	return l.Limiter.Acquire(ctx, maxWait)
}

func TestLimiterOfTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &asking{Limiter: petstore.NewLimiter()}
		server := fake.NewTestServer(t)
		server.Inject(fake.Fault{Status: 503, Times: 1})
		var begun, done []petstore.Wait
		client := server.Client(petstore.WithLimiter(l), petstore.WithTrace(&petstore.ClientTrace{
			WaitStart: func(_ context.Context, w petstore.Wait) { begun = append(begun, w) },
			WaitDone:  func(_ context.Context, w petstore.Wait) { done = append(done, w) },
		}))
		for range 2 {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithMaxWait(0))
			require.NoError(t, err)
		}
		assert.Equal(t, []uint64{1, 1, 2}, l.tickets, "a retried call keeps its ticket")
		require.Len(t, begun, 4, "with the backoff")
		assert.Equal(t, "listPets", begun[0].Call.Operation)
		assert.Equal(t, 7, begun[0].Waiting)
		assert.Zero(t, begun[0].Duration)
		assert.Equal(t, "backoff", begun[1].Reason)
		assert.Equal(t, time.Second, done[0].Duration)
	})
}

func TestOutsideACall(t *testing.T) {
	assert.EqualValues(t, 5, limiter.Ticket(t.Context(), nil, func() uint64 { return 5 }))
	limiter.StartWait(t.Context(), petstore.Wait{})(0)
}

func TestReopenerOfAWrappedLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		client := server.Client(petstore.WithLimiter(fewAtOnce{petstore.NewLimiter(), make(chan struct{}, 2)}))
		list := func() error {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			return err
		}
		server.BanKey(server.APIKey(), time.Hour)
		require.ErrorIs(t, list(), petstore.ErrRateLimited)
		server.BanKey(server.APIKey(), 0)
		require.ErrorIs(t, list(), petstore.ErrRateLimited)
		client.Reopen()
		require.NoError(t, list())
	})
}

package sim

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// inBubble returns a test that runs in virtual time.
func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, test)
	}
}

func TestLimiter(t *testing.T) {
	t.Run("sends calls in the order in which they came", inBubble(inOrder))
	t.Run("refuses a wait that cannot fit, at once, and sends nothing", inBubble(refusedAtOnce))
	t.Run("after a 429 waits, sends one, then the rest", inBubble(func(t *testing.T) { oneRejection(t, 30) }))
	t.Run("after a 429 to the first request waits, sends one, then the rest", inBubble(func(t *testing.T) { oneRejection(t, 0) }))
	t.Run("fails at once when a fixed day is used up, until it is over", inBubble(func(t *testing.T) { exhaustDay(t, fake.WindowFixed) }))
	t.Run("fails at once when an aligned day is used up, until it is over", inBubble(func(t *testing.T) { exhaustDay(t, fake.WindowAligned) }))
	t.Run("fails at once when a sliding day is used up, until it is over", inBubble(func(t *testing.T) { exhaustDay(t, fake.WindowSliding) }))
}

func inOrder(t *testing.T) {
	const calls, perWindow = 200, 60
	server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithStrict())
	w := newRecorder(server)
	callAtOnce(t, w.client(t), calls)
	require.Len(t, w.all, calls)
	for i, s := range w.all {
		assert.Equalf(t, i/perWindow, s.call/perWindow, "call %d was number %d to be sent", s.call, i)
	}
}

func refusedAtOnce(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithStrict())
	w := newRecorder(server)
	client := w.client(t)
	callAtOnce(t, client, 60)
	soon, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	refused := func(ctx context.Context, opts ...petstore.CallOption) {
		before := time.Now()
		_, err := client.ListPets(ctx, petstore.ListPetsParams{}, opts...)
		var limited *petstore.RateLimitError
		require.ErrorAs(t, err, &limited)
		assert.Equal(t, before, time.Now())
		assert.True(t, limited.Local)
		assert.WithinDuration(t, server.Usage(server.APIKey()).MinuteReset, limited.RetryAt, clockGrain)
	}
	refused(soon)
	refused(t.Context(), petstore.WithMaxWait(0))
	refused(t.Context(), petstore.WithMaxWait(30*time.Second))
	assert.Len(t, w.all, 60, "nothing was sent")
}

// oneRejection has 100 callers share 60 requests a minute, of which the one after skip others is
// rejected with a Retry-After of 30 seconds.
func oneRejection(t *testing.T, skip int) {
	const retryAfter = 30 * time.Second
	server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
	server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "30", Skip: skip})
	w := newRecorder(server)
	callAtOnce(t, w.client(t), 100)

	rejected := w.rejected()
	require.Len(t, rejected, 1)
	opens := rejected[0].received.Add(retryAfter)
	assert.Empty(t, w.sentFrom(rejected[0].received, opens), "inside the closed window")

	later := w.sentFrom(opens, opens.Add(time.Hour))
	require.NotEmpty(t, later)
	probe := later[0]
	assert.Less(t, probe.sent.Sub(opens), time.Second)
	assert.Equal(t, rejected[0].call, probe.call, "the call that was rejected keeps its ticket")
	assert.Len(t, w.sentFrom(opens, probe.received), 1, "exactly one probe")

	nextWindow := server.Usage(server.APIKey()).MinuteReset.Add(-time.Minute)
	rest := len(w.sentFrom(probe.received, nextWindow))
	assert.LessOrEqual(t, rest, probe.remaining, "the rest, within Remaining")
	assert.GreaterOrEqual(t, rest, probe.remaining-1, "one may be left for the others on the key")
	assert.Len(t, w.sentFrom(time.Time{}, opens.Add(time.Hour)), 101)
}

func (w *recorder) rejected() []exchange {
	var rejected []exchange
	for _, s := range w.all {
		if s.status == http.StatusTooManyRequests {
			rejected = append(rejected, s)
		}
	}
	return rejected
}

func exhaustDay(t *testing.T, window fake.Window) {
	const day = 100
	server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(60, day)), fake.WithStrict(),
		fake.WithBehavior(fake.Behavior{Window: window}))
	w := newRecorder(server)
	client := w.client(t)
	callAtOnce(t, client, day)
	reset := server.Usage(server.APIKey()).DayReset

	list := func() error {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		return err
	}
	var limited *petstore.RateLimitError
	for ; time.Until(reset) > time.Hour; time.Sleep(time.Hour) {
		before := time.Now()
		require.ErrorAs(t, list(), &limited)
		assert.Equal(t, before, time.Now(), "at once")
		assert.True(t, limited.Local)
		assert.Equal(t, petstore.ScopeDay, limited.Scope)
		assert.WithinDuration(t, reset, limited.RetryAt, clockGrain)
	}
	assert.Len(t, w.all, day, "nothing was sent")

	time.Sleep(time.Until(limited.RetryAt))
	require.NoError(t, list())
	assert.Zero(t, server.Usage(server.APIKey()).Limited)
}

// callHeader carries the number of a call, so that its requests can be identified.
const callHeader = "X-Call"

// clockGrain is how exactly a client can know the end of a window: Date is in whole seconds, and
// was on its way for some time.
const clockGrain = time.Second + maxLatency

// recorder records the requests that one client sends over a link of 20 to 200 ms, and their
// responses.
type recorder struct {
	link *link

	mu  sync.Mutex
	all []exchange
}

// exchange is one request as the client sees it.
type exchange struct {
	call           int
	sent, received time.Time
	status         int
	remaining      int
}

func newRecorder(s *fake.Server) *recorder {
	return &recorder{link: newLink(cell{condition: conditions()[0], seed: defaultSeed}, s)}
}

func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	i := len(w.all)
	call, _ := strconv.Atoi(r.Header.Get(callHeader)) // 0 without one
	w.all = append(w.all, exchange{call: call, sent: time.Now()})
	w.mu.Unlock()

	resp, err := w.link.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[i].received, w.all[i].status = time.Now(), resp.StatusCode
	w.all[i].remaining, _ = strconv.Atoi(resp.Header.Get(headerRemaining))
	return resp, nil
}

func (w *recorder) client(t *testing.T, opts ...petstore.Option) *petstore.Client {
	t.Helper()
	opts = append([]petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: w})}, opts...)
	client, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, opts...)
	require.NoError(t, err)
	return client
}

// sentFrom returns what was sent from one time on and before another.
func (w *recorder) sentFrom(from, to time.Time) []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sent []exchange
	for _, s := range w.all {
		if !s.sent.Before(from) && s.sent.Before(to) {
			sent = append(sent, s)
		}
	}
	return sent
}

// callAtOnce makes n calls, one goroutine each, a microsecond after the other so that their order
// is certain, and returns when all are done.
func callAtOnce(t *testing.T, client *petstore.Client, n int) {
	t.Helper()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{},
				petstore.WithHeader(callHeader, strconv.Itoa(i)), petstore.WithMaxWait(time.Hour))
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		})
		time.Sleep(time.Microsecond)
	}
	group.Wait()
}

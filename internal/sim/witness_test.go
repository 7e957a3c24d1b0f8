package sim

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// callHeader carries the number of a call, so that its requests can be told from others.
const callHeader = "X-Call"

// clockGrain is how well a client can know the end of a window: Date is to the second, and was some
// time on its way.
const clockGrain = time.Second + maxLatency

// witness notes what one client sends over a link of 20 to 200 ms, and what comes back.
type witness struct {
	link *link

	mu   sync.Mutex
	seen []sighting
}

// sighting is one request as the client sees it.
type sighting struct {
	call           int
	sent, answered time.Time
	status         int
	remaining      int
}

func newWitness(s *fake.Server) *witness {
	return &witness{link: newLink(cell{condition: conditions()[0], seed: defaultSeed}, s)}
}

func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	i := len(w.seen)
	call, _ := strconv.Atoi(r.Header.Get(callHeader)) // 0 without one
	w.seen = append(w.seen, sighting{call: call, sent: time.Now()})
	w.mu.Unlock()

	resp, err := w.link.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[i].answered, w.seen[i].status = time.Now(), resp.StatusCode
	w.seen[i].remaining, _ = strconv.Atoi(resp.Header.Get(headerRemaining))
	return resp, nil
}

func (w *witness) client(t *testing.T, opts ...petstore.Option) *petstore.Client {
	t.Helper()
	opts = append([]petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: w})}, opts...)
	client, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, opts...)
	require.NoError(t, err)
	return client
}

// sentFrom returns what was sent from one time on and before another.
func (w *witness) sentFrom(from, to time.Time) []sighting {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sent []sighting
	for _, s := range w.seen {
		if !s.sent.Before(from) && s.sent.Before(to) {
			sent = append(sent, s)
		}
	}
	return sent
}

// callAtOnce makes n calls, one goroutine each, a microsecond after the other so that their order is
// certain, and returns when all are done.
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

package petstore_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

// A limiter gets each permit back. It need not know Retry-After: the client waits for that.
func TestWithLimiter(t *testing.T) {
	panics := func(*http.Request) (*http.Response, error) { panic("in the transport") }
	gaveUp := func(r *http.Request) (*http.Response, error) {
		time.Sleep(time.Hour) // longer than the timeout of the call; this transport ignores contexts
		return hangs(r)
	}
	limiter := new(permits) // of the subtest
	body := failingReader(func() error {
		assert.Len(t, limiter.released, 1, "the permit is released before the body is read")
		return errReset
	})
	for name, c := range map[string]struct {
		responders []responder
		want       []string // outcome of each permit
		panics     bool
	}{
		"cut off": {responders: []responder{func(r *http.Request) (*http.Response, error) {
			return response(r, 201, body), nil
		}}, want: []string{"201"}},
		"a slow response":        {responders: []responder{hangs}, want: []string{"no response"}},
		"a panic":                {responders: []responder{panics}, want: []string{"no response"}, panics: true},
		"given up by its caller": {responders: []responder{gaveUp}, want: []string{"abandoned"}},
		"429, refused, success": {
			responders: []responder{status(429, ``, "Retry-After: 30"), fails(errRefused), status(201, onePet)},
			want:       []string{"429", "not sent", "201"},
		},
	} {
		virtual(t, name, func(t *testing.T) {
			limiter = new(permits)
			client, service := scripted(t, c.responders,
				petstore.WithLimiter(limiter), petstore.WithCallTimeout(time.Minute))
			func() {
				defer func() { assert.Equal(t, c.panics, recover() != nil) }()
				_ = create(client)
			}()
			var released []string
			for _, o := range limiter.released {
				text := fmt.Sprint(o.StatusCode)
				switch {
				case o.Sent.IsZero():
					text = "not sent"
				case o.Abandoned:
					text = "abandoned"
				case o.Received.IsZero():
					text = "no response"
				}
				released = append(released, text)
			}
			assert.Equal(t, c.want, released)
			assert.Equal(t, limiter.acquired, len(released))
			if sent := service.sent(); len(sent) > 1 {
				assert.GreaterOrEqual(t, sent[1].at.Sub(sent[0].at), 30*time.Second)
			}
		})
	}
	virtual(t, "learns what the call asks for, and may be slow", func(t *testing.T) {
		start, keyID := time.Now(), ""
		var requests []string
		var last context.Context
		limiter := limiterFunc(func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
			asked, notBefore := r.Asked.Sub(start), max(0, r.NotBefore.Sub(start))
			requests = append(requests, fmt.Sprintf("MaxWait %.0f, Asked %.0f, NotBefore %.0f",
				r.MaxWait.Seconds(), asked.Seconds(), notBefore.Seconds()))
			assert.True(t, r.Background)
			last = ctx
			assert.Equal(t, keyID, r.Key)
			<-time.After(3 * time.Second)
			return new(permits), nil
		})
		inTime := func(r *http.Request) (*http.Response, error) {
			deadline, _ := r.Context().Deadline()
			assert.Equal(t, 2*time.Second, time.Until(deadline), "the timeout begins after the limiter")
			return status(200, "[]")(r)
		}
		busy := status(503, "")
		client, _ := scripted(t, []responder{busy, status(429, "", "Retry-After: 30"), inTime, busy, inTime},
			petstore.WithLimiter(limiter), petstore.WithStop(t.Context()), petstore.WithAttemptTimeout(2*time.Second), quick)
		keyID = client.KeyID()
		for _, maxWait := range []time.Duration{time.Minute, time.Second} {
			require.NoError(t, list(client, petstore.WithMaxWait(maxWait), petstore.WithBackground()))
		}
		assert.Error(t, last.Err(), "the call leaves nothing in the contexts of its caller")
		// Waits in the limiter and pauses after a 429 shorten MaxWait. All attempts of a call have
		// the same Asked, and so the same place in the queue.
		assert.Equal(t, []string{
			"MaxWait 60, Asked 0, NotBefore 0", "MaxWait 57, Asked 0, NotBefore 2",
			"MaxWait 24, Asked 0, NotBefore 36", "MaxWait 1, Asked 39, NotBefore 0", "MaxWait 0, Asked 39, NotBefore 41",
		}, requests)
	})
}

// limiterFunc is a user's limiter that has only an Acquire.
type limiterFunc func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error)

func (f limiterFunc) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	return f(ctx, r)
}

func (limiterFunc) RateLimit(string) petstore.RateLimit { return petstore.RateLimit{} }

func (limiterFunc) Reopen(string) {}

// refusesBy sets a limiter that returns an error from each Acquire.
func refusesBy(err error) petstore.Option {
	return petstore.WithLimiter(limiterFunc(
		func(context.Context, ratelimit.Request) (ratelimit.Permit, error) { return nil, err }))
}

// permits admits all requests immediately and records their outcomes. It is its own permit, and is
// used by one goroutine at a time.
type permits struct {
	petstore.Limiter
	acquired int
	released []ratelimit.Outcome
}

func (l *permits) Acquire(context.Context, ratelimit.Request) (ratelimit.Permit, error) {
	l.acquired++
	return l, nil
}

func (l *permits) Release(o ratelimit.Outcome) ratelimit.Lockout {
	l.released = append(l.released, o)
	return ratelimit.Lockout{Until: time.Now().Add(-time.Second)} // it has ended already
}

package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/ratelimit"
)

// TestTenants compares a program with fifty tenants with fifty programs that have one tenant each.
// Something happens to some of the tenants, such as a ban. The logs, traces, errors and limits must
// be the same.
func TestTenants(t *testing.T) {
	const tenants = 50
	together := tenantProgram(t, 0, tenants)
	for n := range tenants {
		assert.Equal(t, tenantProgram(t, n, 1), together[n:n+1], "tenant %d", n)
	}
	for n, want := range map[int]string{0: "key refused", 2: "scope=ban", 3: "stopped by WithStop", 4: "reason=minute"} {
		assert.Contains(t, together[n], want, "what happens to tenant %d", n)
		assert.NotContains(t, together[1]+together[tenants-1], want)
	}
	assert.Equal(t, 7+1+1, strings.Count(together[2], "AttemptStart"), "one that shows the ban, and one after its own ReopenLimit")
}

// tenantProgram runs a program with n tenants, and returns what each of them sees.
func tenantProgram(t *testing.T, first, n int) []string {
	t.Helper()
	seen := make([]strings.Builder, n)
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithLatency(20*time.Millisecond))
		parent := server.Client()
		var all sync.WaitGroup
		for i := range seen {
			all.Go(func() { runTenant(t, server, parent, first+i, &seen[i]) })
		}
		all.Wait()
	})
	var texts []string
	for i := range seen {
		texts = append(texts, seen[i].String())
	}
	return texts
}

func runTenant(t *testing.T, server *fake.Server, parent *petstore.Client, n int, seen *strings.Builder) {
	stopping, stop := context.WithCancel(t.Context())
	defer stop()
	plan := fake.PlanFree
	if n == 4 {
		plan = fake.Plan{PerMinute: 3}
	}
	client := func(key string) *petstore.Client {
		server.AddKey(key, plan)
		tenant, err := parent.ForKey(key, petstore.WithStop(stopping), petstore.WithLogger(logTo(seen, slog.LevelDebug)),
			petstore.WithTrace(hooked(func(_ context.Context, c petstore.Call, event string) {
				c.ID = "" // which is random
				fmt.Fprintf(seen, "%s %+v\n", event, c)
			})))
		assert.NoError(t, err)
		return tenant
	}
	key := fmt.Sprint("key-of-tenant-", n)
	tenant := client(key)
	for round := range 3 {
		for range 7 {
			fmt.Fprintf(seen, "%v %+v\n", list(tenant), tenant.RateLimit())
		}
		time.Sleep(40 * time.Second)
		switch {
		case n == 5, n == 2 && round == 1:
			tenant.ReopenLimit() // of an open key, and of the banned one
		case round > 0:
		case n == 0:
			server.RevokeKey(key)
		case n == 1:
			tenant = client("another-" + key)
			server.RevokeKey(key)
		case n == 2:
			server.BanKey(key, time.Hour)
		case n == 3:
			stop()
		}
	}
}

func TestWithAPIKeyFunc(t *testing.T) {
	const first, second = "first-key", "second-key"
	refused, busy, created, listed := status(401, ""), status(503, ""), status(201, onePet), status(200, "[]")
	for name, c := range map[string]struct {
		call      callFunc
		keys      []string
		responses []responder
		fails     bool // with the 401
	}{
		"a 401, and another key":      {create, []string{first, second}, []responder{refused, created}, false},
		"a 401, and the same key":     {create, []string{first, first}, []responder{refused}, true},
		"a 401 for another key, too":  {create, []string{first, second}, []responder{refused, refused}, true},
		"a key for each attempt":      {list, []string{first, second}, []responder{busy, listed}, false},
		"a 401 after another attempt": {list, []string{first, first, second}, []responder{busy, refused, listed}, false},
	} {
		virtual(t, name, func(t *testing.T) {
			asked := 0
			client, service := rotating(t, func(ctx context.Context) (string, error) {
				call, _ := petstore.CallFromContext(ctx)
				asked++
				assert.Equal(t, asked, call.Attempt, "the one that the key is for")
				return c.keys[min(asked, len(c.keys))-1], nil
			}, c.responses)
			err := c.call(client)
			require.Len(t, service.sent(), len(c.responses))
			for n, r := range service.sent() {
				assert.Equal(t, "Bearer "+c.keys[n], r.header.Get("Authorization"))
			}
			assert.Equal(t, c.fails, errors.Is(err, petstore.ErrUnauthorized))
			assert.Equal(t, c.fails, err != nil)
		})
	}
	virtual(t, "a key that takes longer than an attempt may", func(t *testing.T) {
		client, service := rotating(t, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, nil, petstore.WithAttemptTimeout(time.Second))
		err := list(client)
		require.ErrorIs(t, err, petstore.ErrTimeout)
		require.ErrorIs(t, err, petstore.ErrNotSent)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "which is for the caller's deadline")
		assert.Empty(t, service.sent())
	})
	t.Run("no valid key", func(t *testing.T) {
		sealed := errors.New("sealed")
		for key, failure := range map[string]error{"": sealed, "not a key": nil} {
			client, service := rotating(t, func(context.Context) (string, error) { return key, failure }, nil)
			err := create(client)
			require.ErrorIs(t, err, petstore.ErrAPIKey)
			require.ErrorIs(t, err, petstore.ErrNotSent)
			assert.Equal(t, failure != nil, errors.Is(err, sealed))
			assert.Empty(t, service.sent())
		}
	})
	client, service := scripted(t, []responder{refused})
	require.ErrorIs(t, list(client), petstore.ErrUnauthorized)
	assert.Len(t, service.sent(), 1, "a fixed key is not tried again")
}

// TestKeyThatRotates has forty callers of a key that a vault renews each 37 seconds. The old key works
// for another second. A call that has waited for the limit must not send the key from before its wait.
func TestKeyThatRotates(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var current atomic.Pointer[string]
		renew := func(n int) {
			key, old := fmt.Sprint("key-number-", n), current.Load()
			server.AddKey(key, fake.PlanPro)
			current.Store(&key)
			time.Sleep(time.Second)
			if old != nil {
				server.RevokeKey(*old)
			}
		}
		renew(0)
		client, err := petstore.NewClient("http://localhost/v1", "", petstore.WithHTTPClient(server.HTTPClient()),
			petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return *current.Load(), nil }))
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				for range 30 {
					assert.NoError(t, list(client))
					time.Sleep(time.Second)
				}
			})
		}
		go func() {
			for n := range 8 {
				time.Sleep(36 * time.Second)
				renew(n + 1)
			}
		}()
		all.Wait()
		for _, r := range server.Requests() {
			assert.Equal(t, http.StatusOK, r.StatusCode)
		}
		time.Sleep(8 * 37 * time.Second) // until the vault has ended
	})
}

// A call for whose key the limiter made it wait gives the permit back if there is another key by then.
func TestKeyThatChangesDuringAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		permit := new(permits)
		keys := []string{"old-key", "new-key", "new-key"}
		client, service := rotating(t, func(context.Context) (string, error) {
			key := keys[0]
			keys = keys[1:]
			return key, nil
		}, []responder{status(201, onePet)}, petstore.WithLimiter(
			limiterFunc(func(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
				c, _ := petstore.CallFromContext(ctx)
				assert.Equal(t, r.Key, c.KeyID)
				asked = append(asked, r.Key)
				<-time.After(time.Second)
				return permit.Acquire(ctx, r)
			})))
		require.NoError(t, create(client))
		assert.Equal(t, "Bearer new-key", service.sent()[0].header.Get("Authorization"))
		require.Len(t, asked, 2)
		assert.NotEqual(t, asked[0], asked[1])
		assert.Equal(t, ratelimit.Outcome{}, permit.released[0], "nothing was sent with it")
		assert.Equal(t, 201, permit.released[1].StatusCode)
	})
}

package petstore_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/testkit"
	"github.com/petstore/petstore-go/ratelimit"
)

// TestErrorGoldenFiles compares texts, matches and attributes of errors with golden files.
func TestErrorGoldenFiles(t *testing.T) {
	var texts strings.Builder
	var log bytes.Buffer
	record := func(name string, err error) {
		require.Error(t, err, name)
		assertShortLine(t, err)
		fmt.Fprintf(&texts, "%s\n\t%v\n", name, err)
		for _, sentinel := range []error{
			petstore.ErrBadRequest, petstore.ErrUnauthorized, petstore.ErrNotFound, petstore.ErrRateLimited,
			petstore.ErrOutcomeUnknown, petstore.ErrInvalidResponse, petstore.ErrInvalidArgument,
			petstore.ErrNotSent, petstore.ErrAPIKey, petstore.ErrStopped, petstore.ErrTimeout,
			context.Canceled, context.DeadlineExceeded,
		} {
			if errors.Is(err, sentinel) {
				fmt.Fprintf(&texts, "\t= %v\n", sentinel)
			}
		}
		logTo(&log, slog.LevelInfo).Error("failed", "case", name, "err", err)
	}
	synctest.Test(t, func(t *testing.T) {
		recordFailures(t, record)
		recordEnds(t, record)
		recordRefusals(t, record)
	})
	testkit.AssertGolden(t, "testdata/errors.txt", texts.String())
	testkit.AssertGolden(t, "testdata/errors.log", log.String())
}

// recordFailures records calls whose attempts get a response, or an error in place of one.
func recordFailures(t *testing.T, record func(name string, err error)) {
	meets := func(name string, respond responder, call callFunc, later ...responder) {
		client, _ := scripted(t, append([]responder{respond}, later...),
			petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2, BaseDelay: 1, MaxDelay: 1}))
		record(name, call(client))
	}
	limited := append(quota(60, 0, time.Minute), "Retry-After: 3600")
	meets("400", status(400, `{"code":"invalid_request","message":"name is missing","status":400}`), create)
	meets("401", status(401, `{"code":"unauthorized","message":"unknown key","status":401}`), list)
	meets("404, not JSON", status(404, `{"code":"not_found","message":"gone"}`, "Content-Type: "), get)
	meets("429", status(429, `{"code":"rate_limited","message":"60 a minute","status":429}`, limited...), list)
	meets("503 of a read", status(503, "", "Retry-After: 3600"), list)
	meets("202 of a create", status(202, ""), create)
	meets("an empty body", status(200, ""), list)
	meets("not JSON", status(200, "<html>"), list)
	meets("a login page", status(200, "<html>", "Content-Type: text/html"), list)
	meets("body cut off, of a create", cutOff("[", 201, errReset), create)
	meets("a wrong chunk", cutOff("[", 200, errNotHTTP), list)
	meets("reset of a create", fails(errReset), create)
	meets("connection refused", fails(errRefused), create)
	meets("not HTTP", fails(errNotHTTP), list)
	meets("anything else", fails(errors.New("anything")), list)
	opens := fmt.Errorf("anything: %w", petstore.ErrNotSent)
	meets("a circuit breaker", fails(opens), list)
	meets("a circuit breaker after a 503", status(503, ""), list, fails(opens))
	meets("a circuit breaker that got a connection, and dumps the request", func(r *http.Request) (*http.Response, error) {
		httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
		_, _ = httputil.DumpRequestOut(r, true)
		return nil, opens
	}, create)
	meets("a transport's own context", fails(errors.Join(context.Canceled, errors.New("anything"))), list)
	meets("attempt timed out", hangs, list)
	for _, evil := range []string{strings.Repeat("x", 5000), strings.Repeat("\u202e\"\n日", 999)} {
		text, _ := json.Marshal(evil)
		meets("a long object", status(403, fmt.Sprintf(`{"code":%s,"message":%[1]s}`, text)), list)
		meets("a long name", status(201, fmt.Sprintf(`{%s:1,%[1]s:1}`, text)), create)
		meets("a long error", fails(errors.New("\xff"+evil)), create)
		record("a long cause of a refusal", &petstore.RateLimitError{Operation: "listPets", Err: errors.New(evil)})
	}
	for _, code := range []int{301, 403, 408, 409, 413, 415, 422, 500, 501, 502, 503, 504, 520} {
		meets(fmt.Sprint(code, " of a create"), status(code, "", "Location: /v1/pets/1"), create)
	}
	for _, err := range []error{
		io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.EHOSTUNREACH, os.ErrDeadlineExceeded, errRefused,
		context.DeadlineExceeded, // as a net.Dialer returns for its timeout
		context.Canceled,
		tls.AlertError(42), tls.RecordHeaderError{Msg: "no TLS record"},
		&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, &net.DNSError{Err: "server misbehaving"},
		x509.HostnameError{Host: "service.test", Certificate: &x509.Certificate{DNSNames: []string{"other.test"}}},
	} {
		meets(fmt.Sprintf("a %T", err), fails(&net.OpError{Op: "read", Net: "tcp", Err: err}), list)
	}
}

// recordEnds records calls that the client or its caller ends before the response is complete.
func recordEnds(t *testing.T, record func(name string, err error)) {
	client, _ := scripted(t, []responder{hangs})
	record("WithCallTimeout", create(client, petstore.WithCallTimeout(5*time.Second)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	record("the caller's deadline", createFor(ctx, client))
	panics, _ := rotating(t, func(context.Context) (string, error) { panic("asks for a key") }, nil,
		petstore.WithLimiter(limiterFunc(nil)))
	record("a deadline that has passed", createFor(ctx, panics))
	canceled, cancel := context.WithCancel(t.Context())
	tooLate, _ := scripted(t, nil, petstore.WithLimiter(limiterFunc(func(context.Context, ratelimit.Request) (ratelimit.Permit, error) {
		cancel()
		return new(permits), nil
	})))
	record("a cancel at the time of the permit", createFor(canceled, tooLate))
	stopped, _ := scripted(t, nil, petstore.WithStop(ctx))
	record("WithStop", get(stopped))
	for _, code := range []int{400, 503} {
		client, _ := scripted(t, []responder{stalls(code)})
		for _, call := range []func(context.Context, *petstore.Client, ...petstore.CallOption) error{listFor, createFor} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			record(fmt.Sprint("the caller's deadline, during a body of status ", code), call(ctx, client))
			cancel()
		}
	}
	outer, _ := rotating(t, func(ctx context.Context) (string, error) {
		err := listFor(ctx, client)
		record("a call within a call that times out", err)
		return "", err
	}, nil, petstore.WithCallTimeout(time.Second))
	record("a call that times out, around it", list(outer))
}

// recordRefusals records calls whose first or second attempt sends nothing.
func recordRefusals(t *testing.T, record func(name string, err error)) {
	for _, scope := range []ratelimit.Reason{"", ratelimit.ReasonMinute, ratelimit.ReasonDay, ratelimit.ReasonBan} {
		client, _ := scripted(t, nil, refusesBy(&ratelimit.Error{Reason: scope}))
		record(fmt.Sprintf("refused by the limiter, reason %q", scope), list(client))
	}
	for _, refusal := range []error{&ratelimit.Error{}, errors.New("broken")} {
		limiter := limiterFunc(func(ctx context.Context, _ ratelimit.Request) (ratelimit.Permit, error) {
			if c, _ := petstore.CallFromContext(ctx); c.Attempt > 1 {
				return nil, refusal
			}
			return new(permits), nil
		})
		for _, first := range []responder{fails(errRefused), fails(errReset), status(429, "", "Retry-After: 1")} {
			client, service := scripted(t, []responder{first}, petstore.WithLimiter(limiter), quick)
			record(fmt.Sprintf("the limiter returns %q after the first attempt", refusal), list(client))
			assert.Len(t, service.sent(), 1)
		}
	}
	for _, key := range []func(context.Context) (string, error){
		petstore.APIKeyFile(os.DevNull), func(context.Context) (string, error) { return "", os.ErrNotExist },
		func(context.Context) (string, error) { return "no key", nil },
		func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() },
	} {
		client, _ := rotating(t, key, nil)
		record("no key", list(client))
	}
	client, _ := scripted(t, nil)
	_, err := client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 101})
	record("an argument", err)
	record("an error that is made by hand", &petstore.TransportError{Err: &petstore.TransportError{}})
	record("an unknown outcome that is made by hand", &petstore.TransportError{OutcomeUnknown: true, Err: io.EOF})
}

// The tests of internal/credential have more wrong URLs, keys and paths.
func TestArgumentError(t *testing.T) {
	var texts strings.Builder
	record := func(_ any, err error) { fmt.Fprintln(&texts, as[*petstore.ArgumentError](t, err)) }
	keyFunc := petstore.WithAPIKeyFunc(petstore.APIKeyFile("key"))
	opts := []petstore.Option{
		nil, petstore.WithHTTPClient(nil), petstore.WithTransport(nil), petstore.WithTransport(func(http.RoundTripper) http.RoundTripper { return nil }),
		petstore.WithAPIKeyFunc(nil), keyFunc, petstore.WithMaxWait(-1), petstore.WithProcesses(0),
		petstore.WithAttemptTimeout(-1), petstore.WithCallTimeout(-1), petstore.WithTrace(nil),
		petstore.WithStop(nil), //lint:ignore SA1012 nil is what the test is about
		petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: -1}),
		petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 2, MaxDelay: 1}),
		petstore.WithHeader("", "x"), petstore.WithHeader("X-Trace", "a\nb"),
	}
	for _, name := range []string{
		"authorization", "Accept", "Content-Type", "Host", "Connection", "TE", "Trailer", "Upgrade", "X-Idempotency-Key",
		"Accept-Encoding", "Content-Encoding", "Content-Length", "Expect", "Idempotency-Key", "Keep-Alive",
		"Proxy-Authorization", "Proxy-Connection", "Transfer-Encoding",
	} {
		opts = append(opts, petstore.WithHeader(name, "x"))
	}
	for _, opt := range opts {
		record(petstore.NewClient("https://service.test/v1", testKey, opt))
	}
	record(petstore.NewClient("https://user:pw-hidden@service.test/v1", testKey))
	record(petstore.NewClient("https://service.test/v1", "hidden\r\nX-Evil: 1", petstore.WithTransport(
		func(http.RoundTripper) http.RoundTripper { panic("called although the key is invalid") })))
	client, service := scripted(t, nil)
	for _, opt := range []petstore.Option{
		petstore.WithHTTPClient(new(http.Client)), petstore.WithInsecureHTTP(), keyFunc,
		petstore.WithTransport(func(t http.RoundTripper) http.RoundTripper { return t }),
	} {
		record(client.ForKey("key-of-a-tenant", opt))
	}
	record(client.ForKey("two words"))
	ctx := t.Context()
	record(client.GetPet(nil, 7)) //lint:ignore SA1012 nil is what the test is about
	for _, pet := range []petstore.NewPet{{}, {Name: "a\xffb"}, {Name: "x", Status: "a\xffb"}} {
		record(client.CreatePet(ctx, pet))
	}
	for _, limit := range []int{-1, 101} {
		record(client.ListPets(ctx, petstore.ListPetsParams{Limit: limit}))
	}
	record(nil, list(client, nil))
	record(nil, list(client, petstore.WithHeader("X-Trace", "a\nb")))
	for _, c := range []struct {
		method, path string
		in, out      any
	}{
		{"GET", "../admin", nil, nil}, {"get", "pets", nil, nil}, {"CONNECT", "pets", nil, nil}, {"GET", "pets", 1, nil},
		{"POST", "pets", func() {}, nil}, {"POST", "pets", nil, struct{}{}}, {"POST", "pets", nil, (*int)(nil)},
		{"POST", "pets", []byte("{}"), nil}, {"GET", "pets", nil, new([]byte)},
	} {
		record(client.Do(ctx, c.method, c.path, c.in, c.out))
	}
	assert.Empty(t, service.sent())
	testkit.AssertGolden(t, "testdata/arguments.txt", texts.String())
}

// A function of the user may return an error of another call, and an errgroup may make such an
// error the cause of a context. The error of this call must not match such an error. It must match
// any other error of the user.
func TestForeignErrors(t *testing.T) {
	another, _ := scripted(t, []responder{fails(errReset)})
	for err, matches := range map[error]bool{create(another): false, errors.New("of the user"): true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(err)
		byKey, _ := rotating(t, func(context.Context) (string, error) { return "", err }, nil)
		byLimiter, _ := scripted(t, nil, refusesBy(err))
		byRefusal, _ := scripted(t, nil, refusesBy(&ratelimit.Error{Err: err}))
		byTransport, _ := scripted(t, []responder{fails(fmt.Errorf("%w, %w", petstore.ErrNotSent, err))})
		byStop, _ := scripted(t, nil, petstore.WithStop(ctx))
		_, byCause := byStop.ListPets(ctx, petstore.ListPetsParams{})
		require.ErrorIs(t, byCause, context.Canceled)
		for _, got := range []error{
			create(byKey), create(byLimiter), create(byRefusal), create(byTransport), create(byStop), byCause,
		} {
			assert.Equal(t, matches, errors.Is(got, err), "%v", got)
			assert.NotErrorIs(t, got, petstore.ErrOutcomeUnknown)
			assert.ErrorIs(t, got, petstore.ErrNotSent)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func(d time.Duration) error { return &petstore.RateLimitError{RetryAt: time.Now().Add(d)} }
		const busy = 1500 * time.Millisecond
		api := &petstore.APIError{RetryAfter: busy}
		limited, _ := scripted(t, []responder{status(429, "")})
		after429 := list(limited)
		for _, row := range []struct {
			err    error
			after  time.Duration
			header string // the header Retry-After, in whole seconds; empty if the time is not known
		}{
			{refused(1001 * time.Millisecond), 1001 * time.Millisecond, "2"}, {refused(-time.Hour), 0, "1"},
			{refused(math.MaxInt64), math.MaxInt64, "9223372037"}, {&petstore.RateLimitError{}, 0, ""},
			{api, busy, "2"}, {fmt.Errorf("import: %w", api), busy, "2"}, {&petstore.RateLimitError{Err: api}, busy, "2"},
			{&petstore.APIError{}, 0, ""}, {&petstore.APIError{RetryAfter: busy, OutcomeUnknown: true}, 0, ""}, {nil, 0, ""},
			{after429, 0, ""}, // a 429 without Retry-After
		} {
			after, known := petstore.RetryAfter(row.err)
			header, ok := petstore.RetryAfterHeader(row.err)
			assert.Equal(t, row.header != "", known, "%v", row.err)
			assert.Equal(t, row.header != "", ok, "%v", row.err)
			assert.Equal(t, row.after, after, "%v", row.err)
			assert.Equal(t, row.header, header, "%v", row.err)
		}
		client, _ := scripted(t, []responder{status(503, "", "Retry-After: 30")}, petstore.WithMaxWait(0))
		err := list(client)
		for _, want := range []time.Duration{30 * time.Second, 10 * time.Second, 0} {
			left, ok := petstore.RetryAfter(err)
			assert.True(t, ok)
			assert.Equal(t, want, left, "it counts down")
			time.Sleep(20 * time.Second)
		}
	})
}

// assertShortLine checks that the text of err fits any log: one line of at most 512 bytes of UTF-8,
// without characters that move a cursor or change the reading direction.
func assertShortLine(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	assert.LessOrEqual(t, len(text), 512, "%T", err)
	assert.True(t, utf8.ValidString(text), "%T: %q", err, text)
	unfit := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}
	assert.Equal(t, -1, strings.IndexFunc(text, unfit), "%T: %q", err, text)
}

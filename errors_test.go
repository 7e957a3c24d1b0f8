package petstore_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
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

var sentinels = []error{
	petstore.ErrBadRequest, petstore.ErrUnauthorized, petstore.ErrNotFound, petstore.ErrRateLimited,
	petstore.ErrOutcomeUnknown, petstore.ErrInvalidResponse, petstore.ErrInvalidArgument,
	petstore.ErrNotSent, petstore.ErrAPIKey, petstore.ErrStopped, petstore.ErrTimeout,
}

func TestErrorIs(t *testing.T) {
	matches := func(err error, want ...error) {
		for _, sentinel := range sentinels {
			assert.Equal(t, slices.Contains(want, sentinel), errors.Is(err, sentinel), "%#v %v", err, sentinel)
		}
	}
	ofStatus := map[int]error{
		400: petstore.ErrBadRequest, 401: petstore.ErrUnauthorized, 404: petstore.ErrNotFound, 429: petstore.ErrRateLimited,
	}
	for code := 100; code < 600; code++ {
		response := petstore.Response{StatusCode: code}
		matches(&petstore.APIError{Response: response}, ofStatus[code])
		matches(&petstore.APIError{Response: response, OutcomeUnknown: true}, ofStatus[code], petstore.ErrOutcomeUnknown)
	}
	matches(&petstore.ArgumentError{}, petstore.ErrInvalidArgument, petstore.ErrNotSent)
	matches(&petstore.RateLimitError{}, petstore.ErrRateLimited, petstore.ErrNotSent)
	matches(&petstore.RateLimitError{Attempts: 1, Err: &petstore.APIError{}}, petstore.ErrRateLimited)
	matches(&petstore.ResponseError{}, petstore.ErrInvalidResponse)
	matches(&petstore.ResponseError{OutcomeUnknown: true}, petstore.ErrInvalidResponse, petstore.ErrOutcomeUnknown)
	matches(&petstore.TransportError{}, petstore.ErrNotSent)
	matches(&petstore.TransportError{Attempts: 1, OutcomeUnknown: true}, petstore.ErrOutcomeUnknown)
	matches(&petstore.TransportError{Attempts: 1, Err: petstore.ErrTimeout}, petstore.ErrTimeout)
}

// TestErrorText has errors with text of a server or of another program; testdata/errors.txt has the rest.
func TestErrorText(t *testing.T) {
	for _, evil := range []string{strings.Repeat("x", 5000), strings.Repeat("\xff\u202e\"\n日", 999)} {
		response := petstore.Response{StatusCode: 500, Attempts: 3}
		for _, err := range []error{
			&petstore.APIError{Operation: "listPets", Code: evil, Message: evil, Response: response},
			&petstore.RateLimitError{Operation: "listPets", Err: errors.New(evil)},
			&petstore.ResponseError{Operation: "listPets", Reason: evil, Err: errors.New(evil), Response: response},
			&petstore.ArgumentError{Operation: "listPets", Argument: evil, Reason: evil},
			&petstore.TransportError{Operation: "listPets", Err: errors.New(evil)},
		} {
			assertShortLine(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), "petstore: listPets: "), "%T: %s", err, err)
		}
	}
}

// TestErrorGoldenFiles compares what may be printed with golden files, as a text and as an attribute
// of a log.
func TestErrorGoldenFiles(t *testing.T) {
	var texts strings.Builder
	var log bytes.Buffer
	record := func(name string, err error) {
		require.Error(t, err, name)
		texts.WriteString(name + "\n\t" + err.Error() + "\n")
		logTo(&log, slog.LevelInfo).Error("failed", "case", name, "err", err)
	}
	synctest.Test(t, func(t *testing.T) {
		for _, row := range errorRows() {
			client, _ := scripted(t, []responder{row.respond},
				petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2, BaseDelay: 1, MaxDelay: 1}))
			record(row.name, row.call(client))
		}
		client, _ := scripted(t, []responder{hangs})
		record("WithCallTimeout", create(client, petstore.WithCallTimeout(5*time.Second)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, name := range []string{"the caller's deadline", "a deadline that has passed"} {
			_, err := client.CreatePet(ctx, newPet())
			record(name, err)
		}
		client, _ = scripted(t, nil, petstore.WithStop(ctx))
		record("WithStop", get(client))
		for _, respond := range []responder{fails(errRefused), status(503, "")} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(600*time.Millisecond, cancel) // within the second backoff
			client, _ = scripted(t, []responder{respond})
			_, err := client.GetPet(ctx, 7)
			record("a cancel after two attempts", err)
		}
		for _, scope := range []ratelimit.Reason{"", ratelimit.ReasonMinute, ratelimit.ReasonDay, ratelimit.ReasonBan} {
			client, _ = scripted(t, nil, refusesBy(&ratelimit.Error{Reason: scope}))
			record("refused by the limiter", list(client))
		}
		for _, key := range []func(context.Context) (string, error){
			petstore.APIKeyFile(os.DevNull), func(context.Context) (string, error) { return "", os.ErrNotExist },
		} {
			client, _ = rotating(t, key, nil)
			record("no key", list(client))
		}
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 101})
		record("an argument", err)
	})
	testkit.AssertGolden(t, "testdata/errors.txt", texts.String())
	testkit.AssertGolden(t, "testdata/errors.log", log.String())
}

// errorRow is a response, or an error in place of one, to the attempts of a call.
type errorRow struct {
	name    string
	respond responder
	call    callFunc
}

func errorRows() []errorRow {
	limited := append(quota(60, 0, time.Minute), "Retry-After: 3600")
	rows := []errorRow{
		{"400", status(400, `{"code":"invalid_request","message":"name is missing","status":400}`), create},
		{"401", status(401, `{"code":"unauthorized","message":"unknown key","status":401}`), list},
		{"404, not JSON", status(404, `{"code":"not_found","message":"gone"}`, "Content-Type: "), get},
		{"429", status(429, `{"code":"rate_limited","message":"60 a minute","status":429}`, limited...), list},
		{"503 of a read", status(503, "", "Retry-After: 3600"), list},
		{"202 of a create", status(202, ""), create},
		{"an empty body", status(200, ""), list},
		{"not JSON", status(200, "<html>"), list},
		{"a login page", status(200, "<html>", "Content-Type: text/html"), list},
		{"body cut off, of a create", cutOff(201, errReset), create},
		{"a wrong chunk", cutOff(200, errNotHTTP), list},
		{"reset of a create", fails(errReset), create},
		{"connection refused", fails(errRefused), create},
		{"not HTTP", fails(errNotHTTP), list},
		{"anything else", fails(errors.New("anything")), list},
		{"a circuit breaker", fails(fmt.Errorf("anything: %w", petstore.ErrNotSent)), list},
		{"a transport's own context", fails(errors.Join(context.Canceled, errors.New("anything"))), list},
		{"attempt timed out", hangs, list},
	}
	for _, code := range []int{301, 403, 408, 409, 413, 415, 422, 500, 501, 502, 503, 504, 520} {
		rows = append(rows, errorRow{fmt.Sprint(code, " of a create"), status(code, "", "Location: /v1/pets/1"), create})
	}
	for _, err := range []error{
		io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.EHOSTUNREACH, os.ErrDeadlineExceeded, errRefused,
		tls.AlertError(42), tls.RecordHeaderError{Msg: "no TLS record"},
		&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, &net.DNSError{Err: "server misbehaving"},
		x509.HostnameError{Host: "service.test", Certificate: &x509.Certificate{DNSNames: []string{"other.test"}}},
	} {
		rows = append(rows, errorRow{fmt.Sprintf("a %T", err), fails(&net.OpError{Op: "read", Net: "tcp", Err: err}), list})
	}
	return rows
}

// TestErrNotSent has calls whose first attempt fails, and whose second gets no permit. In TestRetryTable
// all attempts of a call end in the same way.
func TestErrNotSent(t *testing.T) {
	refused, got429 := error(&ratelimit.Error{}), status(429, "", "Retry-After: 1")
	for name, row := range map[string]struct {
		first   responder
		limiter error
		notSent bool
	}{
		"the limiter refuses after a failed dial": {fails(errRefused), refused, true},
		"the limiter refuses after a reset":       {fails(errReset), refused, false},
		"the limiter refuses after a 429":         {got429, refused, false},
		"the limiter breaks after a 429":          {got429, errors.New("broken"), false},
	} {
		virtual(t, name, func(t *testing.T) {
			limiter := limiterFunc(func(ctx context.Context, _ ratelimit.Request) (ratelimit.Permit, error) {
				if c, _ := petstore.CallFromContext(ctx); c.Attempt > 1 {
					return nil, row.limiter
				}
				return new(permits), nil
			})
			client, service := scripted(t, []responder{row.first}, petstore.WithLimiter(limiter))
			err := list(client)
			require.Error(t, err)
			assert.Len(t, service.sent(), 1, "a refusal is not retried")
			assert.Equal(t, row.notSent, errors.Is(err, petstore.ErrNotSent), "%v", err)
			if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok && !row.notSent {
				assert.NotErrorAs(t, limited.Err, new(*petstore.RateLimitError), "one limit is told once")
			}
		})
	}
}

// A function of the user may return the error of another call, and an errgroup makes one the cause of
// another call's end. The error of the call then does not match it. It matches any other.
func TestForeignErrors(t *testing.T) {
	another, _ := scripted(t, []responder{fails(errReset)})
	for name, err := range map[string]error{"another call": create(another), "mine": errors.New("mine")} {
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
			assert.Equal(t, name == "mine", errors.Is(got, err), "%s: %v", name, got)
			assert.NotErrorIs(t, got, petstore.ErrOutcomeUnknown)
			assert.ErrorIs(t, got, petstore.ErrNotSent)
		}
	}
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

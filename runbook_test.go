package petstore_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petstore/petstore-go/internal/loopback"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
)

// runbook is docs/operations.md as somebody on call searches it: what its tables have to look for,
// row by row, and which of that was printed.
type runbook struct {
	rows    [][]string
	printed map[string]bool
}

func readRunbook(t *testing.T) *runbook {
	t.Helper()
	text, err := os.ReadFile("docs/operations.md")
	require.NoError(t, err)
	page := &runbook{printed: make(map[string]bool)}
	for line := range strings.Lines(string(text)) {
		if first, _, ok := strings.Cut(line, " | "); ok && strings.HasPrefix(line, "| `") {
			page.rows = append(page.rows, strings.Split(strings.Trim(strings.TrimPrefix(first, "| "), "`"), "`, `"))
		}
	}
	require.Greater(t, len(page.rows), 40)
	return page
}

// assertFinds asserts that somebody who searches the page for what was printed finds one row or two,
// and that of creates in doubt in addition.
func (r *runbook) assertFinds(t *testing.T, printed string) {
	t.Helper()
	var found []string
	for _, row := range r.rows {
		for _, key := range row {
			if strings.Contains(printed, key) {
				r.printed[key] = true
				found = append(found, row[0])
			}
		}
	}
	found = slices.DeleteFunc(slices.Compact(found), func(row string) bool { return row == "may have been created" })
	if len(found) < 1 || len(found) > 2 {
		t.Errorf("docs/operations.md has %q for %s", found, printed)
	}
}

// TestRunbook produces what may be printed, and looks for it in docs/operations.md.
func TestRunbook(t *testing.T) {
	page := readRunbook(t)
	t.Run("incidents", func(t *testing.T) { runIncidents(t, page) })
	t.Run("statuses", func(t *testing.T) {
		for _, code := range []int{
			301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 407, 408, 409, 410, 413, 415, 422, 431, 451,
			500, 501, 502, 503, 504, 520,
		} {
			page.assertFindsErrorsOf(t, status(code, ""))
		}
		page.assertFindsErrorsOf(t, status(429, "", "Retry-After: 3600"))
		page.assertFindsErrorsOf(t, status(202, "{}"))
		for _, body := range []string{"", "<html>", strings.Repeat(" ", 11<<20)} {
			page.assertFindsErrorsOf(t, status(200, body))
		}
	})
	t.Run("errors of the network", func(t *testing.T) {
		for _, err := range []error{
			syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
			os.ErrDeadlineExceeded, &net.DNSError{Err: "no such host"}, &net.DNSError{Err: "server misbehaving"},
			x509.UnknownAuthorityError{}, x509.CertificateInvalidError{Reason: x509.Expired, Cert: new(x509.Certificate)},
			x509.HostnameError{Host: "service.test", Certificate: &x509.Certificate{DNSNames: []string{"other.test"}}},
			tls.AlertError(42), tls.AlertError(116),
			tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
			&net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}},
		} {
			page.assertFindsErrorsOf(t, fails(&net.OpError{Op: "read", Net: "tcp", Err: err}))
		}
	})
	t.Run("the upper of two rows", func(t *testing.T) { synctest.Test(t, page.assertUpperRows) })
	t.Run("the program itself", func(t *testing.T) {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		client, _ := scripted(t, []responder{status(200, onePet)}, petstore.WithLogger(logger))
		require.NoError(t, get(client))
		page.assertFinds(t, regexp.MustCompile(`msg="([^"]+)"`).FindString(log.String()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := client.ListPets(ctx, petstore.ListPetsParams{})
		page.assertFinds(t, err.Error())
		client, _ = scripted(t, []responder{status(200, onePet)}, petstore.WithStop(ctx))
		page.assertFinds(t, get(client).Error())
	})
	t.Run("a proxy", func(t *testing.T) {
		loopback.Host(t)
		proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
		client, err := petstore.NewClient("https://service.test/v1", testKey,
			petstore.WithTransport(func(rt http.RoundTripper) http.RoundTripper {
				rt.(*http.Transport).Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
				return rt
			}))
		require.NoError(t, err)
		page.assertFinds(t, create(client).Error())
	})
	t.Run("configuration", func(t *testing.T) {
		_, err := petstore.NewClient("service.test/v1", testKey)
		page.assertFinds(t, err.Error())
		for _, key := range []func(context.Context) (string, error){
			petstore.APIKeyFile("no-such-file"), func(context.Context) (string, error) { return "", os.ErrNotExist },
		} {
			client, _ := rotating(t, key, nil)
			page.assertFinds(t, list(client).Error())
		}
	})
	t.Run("no text that nothing prints", func(t *testing.T) {
		loopback.Host(t) // as above
		page.assertPrinted(t)
	})
}

// assertUpperRows asserts that of the rows that match, the upper one has the cause.
func (r *runbook) assertUpperRows(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for row, respond := range map[string]responder{
		"proxyconnect":                     fails(&net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused}),
		"is longer than the call may wait": status(503, "", "Retry-After: 3600"),
		"body is cut off":                  status(200, `[{"id":`),
		"401":                              status(401, `{"code":"unauthorized","message":"API key: revoked"}`),
	} {
		client, _ := scripted(t, []responder{respond})
		printed := list(client).Error()
		upper := slices.IndexFunc(r.rows, func(keys []string) bool {
			return slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(printed, key) })
		})
		require.GreaterOrEqual(t, upper, 0, printed)
		assert.Equal(t, row, r.rows[upper][0], printed)
	}
}

// assertFindsErrorsOf looks for the errors of a list, a create and a DELETE to which a service
// responds so.
func (r *runbook) assertFindsErrorsOf(t *testing.T, respond responder) {
	t.Helper()
	client, _ := scripted(t, []responder{respond}, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
	_, err := client.Do(t.Context(), http.MethodDelete, "/pets/1", nil, new(json.RawMessage))
	for _, err := range []error{list(client), create(client), err} {
		if err != nil {
			r.assertFinds(t, err.Error())
		}
	}
}

// assertPrinted asserts that the page has nothing to look for that is never printed.
func (r *runbook) assertPrinted(t *testing.T) {
	t.Helper()
	alerts, err := os.ReadFile("examples/observability/alerts.yml")
	require.NoError(t, err)
	for _, row := range r.rows {
		for _, key := range row {
			elsewhere := strings.HasPrefix(key, "petstoreredis: ") || strings.Contains(string(alerts), "alert: "+key+"\n")
			assert.True(t, r.printed[key] || elsewhere, "nothing prints %q", key)
		}
	}
}

// incident is an hour of a program of four goroutines, from the first minute with something wrong.
type incident struct {
	fault    fake.Fault
	happens  func(*fake.Server)
	plan     fake.Plan
	every    time.Duration // between two calls of a goroutine; 10 s by default
	deadline time.Duration // of each call
	creates  bool
	options  []petstore.Option
}

func runIncidents(t *testing.T, page *runbook) {
	html, usedUp := http.Header{"Content-Type": {"text/html"}}, http.Header{"X-RateLimit-Remaining": {"0"}}
	for name, in := range map[string]incident{
		"banned": {happens: func(s *fake.Server) {
			for careless := s.Client(petstore.WithLimiter(nil)); s.Usage(s.APIKey()).BannedUntil.IsZero(); {
				_, _ = careless.ListPets(context.Background(), petstore.ListPetsParams{}, petstore.WithMaxWait(0))
			}
		}},
		"day used up": {plan: fake.Plan{PerMinute: 60, PerDay: 100}},
		"a clock that is off": {
			plan: fake.Plan{PerMinute: 60, PerDay: 100}, happens: func(s *fake.Server) { s.SetTime(s.Now().Add(5 * time.Minute)) },
		},
		"key revoked":          {happens: func(s *fake.Server) { s.RevokeKey(s.APIKey()) }},
		"503":                  {fault: fake.Fault{Status: 503}},
		"503 with Retry-After": {fault: fake.Fault{Status: 503, RetryAfter: "3600"}},
		"latency":              {fault: fake.Fault{Delay: 10 * time.Second}, deadline: 3 * time.Second},
		"latency, of creates": {
			fault: fake.Fault{Delay: 10 * time.Second, Times: 1}, deadline: 3 * time.Second, creates: true,
		},
		"stalls":                   {fault: fake.Fault{Wire: fake.WireStall}},
		"cut off":                  {fault: fake.Fault{Wire: fake.WireTruncate}},
		"login page, 0.3 of calls": {fault: fake.Fault{Status: 200, Header: html, Body: []byte("<html>"), Chance: 0.3}},
		"login page, 0.6 of calls": {fault: fake.Fault{Status: 200, Header: html, Body: []byte("<html>"), Chance: 0.6}},
		"login page, 0.9 of calls": {fault: fake.Fault{Status: 200, Header: html, Body: []byte("<html>"), Chance: 0.9}},
		"login page":               {fault: fake.Fault{Status: 200, Header: html, Body: []byte("<html>")}},
		"reset":                    {fault: fake.Fault{Wire: fake.WireReset}},
		"closed":                   {fault: fake.Fault{Wire: fake.WireClose}},
		"refused":                  {fault: fake.Fault{Wire: fake.WireRefuse}},
		"garbage":                  {fault: fake.Fault{Wire: fake.WireGarbage}},
		"over after ten minutes":   {fault: fake.Fault{Status: 503, Times: 500}},
		"call timeout": {
			fault: fake.Fault{Wire: fake.WireStall}, options: []petstore.Option{petstore.WithCallTimeout(5 * time.Second)},
		},
		"replicas doubled": {
			every: 2 * time.Second, fault: fake.Fault{Status: 429, RetryAfter: "1", Header: usedUp, Chance: 0.1},
		},
		"no wait, more than allowed": {every: 2 * time.Second, options: []petstore.Option{petstore.WithMaxWait(0)}},
		"one create reset":           {fault: fake.Fault{Wire: fake.WireReset, Times: 1}, creates: true},
		"more work than the plan":    {every: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) { in.run(t, page) })
	}
}

func (in *incident) run(t *testing.T, page *runbook) {
	if in.plan == (fake.Plan{}) {
		in.plan = fake.Plan{PerMinute: 60}
	}
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var log bytes.Buffer
		client := server.Client(append(in.options, petstore.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))...)
		printed := make(chan string, 100_000)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for begun := time.Now(); time.Since(begun) < time.Hour; time.Sleep(cmp.Or(in.every, 10*time.Second)) {
					if err := in.call(t.Context(), client); err != nil {
						printed <- err.Error()
					}
				}
			})
		}
		time.Sleep(time.Minute)
		if in.happens != nil {
			in.happens(server)
		}
		if !reflect.ValueOf(in.fault).IsZero() {
			in.fault.Times = cmp.Or(in.fault.Times, fake.Forever)
			server.Inject(in.fault)
		}
		all.Wait()
		lines := strings.Count(log.String(), "\n")
		assert.True(t, lines >= 1 && lines <= 5, "%d lines:\n%s", lines, log.String())
		texts := make(map[string]bool)
		for close(printed); len(printed) > 0; {
			texts[regexp.MustCompile(`[0-9T:Z.-]{15,}`).ReplaceAllString(<-printed, "…")] = true
		}
		for _, message := range regexp.MustCompile(`msg="([^"]+)"`).FindAllStringSubmatch(log.String(), -1) {
			texts[message[1]] = true
		}
		for _, text := range slices.Sorted(maps.Keys(texts)) {
			page.assertFinds(t, text)
		}
	}, fake.WithPlan(in.plan), fake.WithBan(5, 2*time.Hour))
}

func (in *incident) call(ctx context.Context, client *petstore.Client) error {
	if in.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, in.deadline)
		defer cancel()
	}
	if in.creates {
		_, err := client.CreatePet(ctx, newPet())
		return err
	}
	_, err := client.ListPets(ctx, petstore.ListPetsParams{})
	return err
}

package petstore_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
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
	"time"

	"github.com/petstore/petstore-go/internal/loopback"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
)

// runbook is docs/operations.md as somebody on call searches it. It has the texts that a reader of
// its tables looks for, row by row, and which of them were printed.
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

// assertFinds asserts that somebody who searches the page for what was printed finds one row or
// two, and that of writes in doubt in addition.
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
	found = slices.DeleteFunc(slices.Compact(found), func(row string) bool { return row == r.rows[0][0] })
	if len(found) < 1 || len(found) > 2 {
		t.Errorf("docs/operations.md has %q for %s", found, printed)
	}
}

// TestRunbook produces what may be printed, and looks for it in docs/operations.md.
func TestRunbook(t *testing.T) {
	page := readRunbook(t)
	for name, in := range incidents() {
		t.Run(name, func(t *testing.T) { in.run(t, page) })
	}
	t.Run("statuses", func(t *testing.T) {
		for _, code := range []int{
			301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 407, 408, 409, 410, 413, 415, 422, 431, 451,
			500, 501, 502, 503, 504, 520,
		} {
			page.assertFindsErrorsOf(t, status(code, ""))
		}
		page.assertFindsErrorsOf(t, status(429, "", "Retry-After: 3600"))
		page.assertFindsErrorsOf(t, status(202, "{}"))
		page.assertFindsErrorsOf(t, cutOff(200, io.ErrUnexpectedEOF))
		for _, body := range []string{"", "<html>", strings.Repeat(" ", 11<<20)} {
			page.assertFindsErrorsOf(t, status(200, body))
		}
	})
	t.Run("errors of the network", func(t *testing.T) {
		for _, err := range []error{
			io.EOF, errNotHTTP, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
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
		client, _ = scripted(t, nil, petstore.WithLimiter(refuses))
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

// assertFindsErrorsOf looks for the errors of all operations to which a service responds so, and
// asserts that those of unknown outcome are the ones that the first row finds.
func (r *runbook) assertFindsErrorsOf(t *testing.T, respond responder) {
	t.Helper()
	client, _ := scripted(t, []responder{respond}, once)
	for _, sample := range withRemove() {
		if err := sample.call(client); err != nil {
			r.assertFinds(t, err.Error())
			inDoubt := strings.Contains(err.Error(), r.rows[0][0])
			assert.Equal(t, errors.Is(err, petstore.ErrOutcomeUnknown), inDoubt, "docs/operations.md, first row: %v", err)
		}
	}
}

// assertPrinted asserts that the page tells nobody to look for a text that is never printed.
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

// incident is what happens to a program that makes a call every two seconds.
type incident struct {
	want    string        // what a line of the log has, as a regular expression; empty if there is none
	within  time.Duration // of the beginning; a minute by default
	fault   fake.Fault
	happens func(s *fake.Server)
	plan    fake.Plan
	every   time.Duration // between two calls; 2 s by default
	leaves  time.Duration // when a caller gives up; a minute by default
	lasts   time.Duration // 4 minutes by default
	creates int           // which calls are creates: every 25th by default
	ban     int           // requests after a 429 for which the service bans the key; 5 by default
	options []petstore.Option
}

func incidents() map[string]incident {
	const tenth = 100 * time.Millisecond
	html := http.Header{"Content-Type": {"text/html"}}
	loginPage := fake.Fault{Status: 200, Header: html, Body: []byte("<html>")}
	partly := func(f fake.Fault, chance float64) fake.Fault { f.Chance = chance; return f }
	lost := fake.Fault{Wire: fake.WireReset, AfterCommit: true, Operation: petstore.OpCreatePet, Chance: 0.2}
	usedUp := fake.Fault{Status: 429, RetryAfter: "20", Header: http.Header{"X-Ratelimit-Remaining": {"0"}}}
	stall, pro := fake.Fault{Wire: fake.WireStall}, fake.Plan{PerMinute: 300}
	soon := []petstore.Option{petstore.WithCallTimeout(5 * time.Second)}
	return map[string]incident{
		"no incident": {},
		"1 responses take 25 s, callers leave at 10": {
			want:   "requests are slow.*no response after 10s|requests are slow.*duration=10s",
			leaves: 10 * time.Second, fault: fake.Fault{Delay: 25 * time.Second},
		},
		"2 the service fails": {want: "calls fail.*503", fault: fake.Fault{Status: 503}},
		"2 the service fails, with Retry-After": {
			want: "calls fail.*Retry-After", fault: fake.Fault{Status: 503, RetryAfter: "3600"},
		},
		"3 a login page": {want: "calls fail.*(text/html|invalid response)", fault: loginPage},
		"4 a fifth of the creates lost": {
			want: "outcome unknown.*reset by peer", fault: lost, creates: 2, lasts: 8 * time.Minute, every: 5 * tenth,
		},
		"5 another team uses up the day": {
			want:    "closed.*scope=day.*limit=9000 remaining=0 sent=[0-9]+\\n",
			plan:    fake.Plan{PerMinute: 300, PerDay: 9000},
			happens: func(s *fake.Server) { s.SetUsage(s.APIKey(), 10, 8999) },
		},
		"6 the plan is lowered": {
			want: "limit changed.*from=300 to=60", plan: pro, within: 2 * time.Minute,
			happens: func(s *fake.Server) { s.SetPlan(s.APIKey(), fake.Plan{PerMinute: 60}) },
		},
		"7 other processes use up the minute": {
			want: "other processes use the key.*limit=300 remaining=0 sent=[0-9]+ processes=2", plan: pro,
			within: 4 * time.Minute, fault: partly(usedUp, 0.5), options: []petstore.Option{petstore.WithProcesses(2)},
		},
		"8 the key is revoked": {
			want: "key refused", happens: func(s *fake.Server) { s.RevokeKey(s.APIKey()) },
		},
		"9 a ban": {
			want: "closed.*scope=ban", plan: pro,
			happens: func(s *fake.Server) { s.BanKey(s.APIKey(), 2*time.Hour) },
		},
		"10 reset by peer":      {want: "calls fail.*reset by peer", fault: fake.Fault{Wire: fake.WireReset}},
		"11 refused":            {want: "calls fail.*connection refused", fault: fake.Fault{Wire: fake.WireRefuse}},
		"12 a clock goes wrong": {happens: func(s *fake.Server) { s.SetTime(s.Now().Add(5 * time.Minute)) }},

		"the service fails, 20 calls a second": {
			want: "calls fail.*503", fault: fake.Fault{Status: 503}, every: tenth / 2, lasts: 20 * time.Second,
		},
		"creates alone fail":                 {want: "calls fail.*invalid response", fault: loginPage, creates: 1},
		"a third of the calls fails":         {want: "calls fail", fault: partly(loginPage, 0.3)},
		"stalls":                             {want: "slow|calls fail", fault: stall},
		"stalls, with a timeout of the call": {want: "calls fail.*WithCallTimeout of 5s", fault: stall, options: soon},
		"more work than the plan": {
			want: "calls wait.*limit=60", plan: fake.Plan{PerMinute: 60}, every: 8 * tenth,
			lasts: 8 * time.Minute, within: 8 * time.Minute,
		},
		"more work than the plan, and no waiting": {
			want: "closed.*scope=minute.*limit=60", plan: fake.Plan{PerMinute: 60}, every: 8 * tenth,
			options: []petstore.Option{petstore.WithMaxWait(0)},
		},
	}
}

// run lets the incident last for some minutes. The program runs half a minute before it, and more
// than a minute after it, because an outage is over only after a minute of successes.
func (in *incident) run(t *testing.T, page *runbook) {
	const before, after = 30 * time.Second, 75 * time.Second
	lasts, every := cmp.Or(in.lasts, 4*time.Minute), cmp.Or(in.every, 2*time.Second)
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var log bytes.Buffer
		var printed sync.Map
		var all sync.WaitGroup
		logger := slog.New(slog.NewTextHandler(&log, nil))
		time.AfterFunc(before, func() {
			if in.happens != nil {
				in.happens(server)
			}
			if !reflect.ValueOf(in.fault).IsZero() {
				in.fault.Times, in.fault.For = fake.Forever, lasts
				server.Inject(in.fault)
			}
		})
		client := server.Client(append(in.options, petstore.WithLogger(logger))...)
		begun := time.Now()
		for n := 0; time.Since(begun) < before+lasts+after; n++ {
			all.Go(func() {
				if err := in.call(t.Context(), client, n%cmp.Or(in.creates, 25) == 0); err != nil {
					printed.Store(regexp.MustCompile(`[0-9T:Z.-]{15,}`).ReplaceAllString(err.Error(), "…"), true)
				}
			})
			time.Sleep(every)
		}
		all.Wait()
		early := log.String()
		for line := range strings.Lines(early) {
			at, err := time.Parse("time=2006-01-02T15:04:05.000Z07:00", strings.Fields(line)[0])
			require.NoError(t, err)
			if at.Sub(begun) > before+cmp.Or(in.within, time.Minute) {
				early, _, _ = strings.Cut(early, line)
				break
			}
		}
		assert.Regexp(t, in.want, early, &log)
		assert.LessOrEqual(t, strings.Count(log.String(), "\n"), 20, &log)
		assert.True(t, in.want != "" || log.Len() == 0, &log)
		for _, message := range found(`msg="([^"]+)"`, log.String()) {
			printed.Store(message, true)
		}
		printed.Range(func(text, _ any) bool { page.assertFinds(t, text.(string)); return true })
	}, fake.WithPlan(cmp.Or(in.plan, fake.Plan{PerMinute: 100_000})), fake.WithBan(cmp.Or(in.ban, 5), 2*time.Hour))
}

// call makes a call whose caller leaves after some time; a create has a deadline.
func (in *incident) call(ctx context.Context, client *petstore.Client, creates bool) error {
	if creates {
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(in.leaves, time.Minute))
		defer cancel()
		_, err := client.CreatePet(ctx, newPet())
		return err
	}
	ctx, leave := context.WithCancel(ctx)
	defer time.AfterFunc(cmp.Or(in.leaves, time.Minute), leave).Stop()
	_, err := client.ListPets(ctx, petstore.ListPetsParams{})
	return err
}

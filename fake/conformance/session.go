package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/service"
)

// The bounds of a session.
const (
	patience    = 2 * time.Minute // the longest wait: a window of a minute, and as much for a slow clock
	spare       = 1               // requests that are left to other users of the key
	maxResponse = 4 << 20
	timeout     = 30 * time.Second
)

// session is one run against a service. It sends one request at a time and remembers the responses,
// since many clauses look at the same ones.
type session struct {
	// A session is one call of Run, and so it may hold the context of that call.
	ctx     context.Context
	target  Target
	client  http.Client
	tag     string // what the names of its pets begin with
	memo    map[request]*exchange
	log     []*exchange
	resume  time.Time        // when the key has quota again
	overrun func() *exchange // provokes a 429 at its first call, and returns it
	broken  int              // requests in a row without a response
	stopped error            // why no more requests are sent
}

func newSession(ctx context.Context, target Target) (*session, error) {
	if _, problem := credential.ParseBaseURL(target.BaseURL, true); problem != "" {
		return nil, errors.New("conformance: Target.BaseURL " + problem)
	}
	if problem := credential.KeyProblem(target.APIKey); problem != "" {
		return nil, errors.New("conformance: Target.APIKey " + problem)
	}
	target.BaseURL = strings.TrimRight(target.BaseURL, "/")
	client := http.Client{Timeout: timeout}
	if target.HTTPClient != nil {
		client = *target.HTTPClient
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s := &session{
		ctx:    ctx,
		target: target,
		client: client,
		tag:    fmt.Sprintf("petstore-go conformance %06x", rand.IntN(1<<24)),
		memo:   make(map[request]*exchange),
	}
	s.overrun = sync.OnceValue(s.provoke)
	return s, nil
}

// ask returns the response to a request, from memory if it was sent before. No two requests have
// the same name for a pet, since a service may accept each name only once.
func (s *session) ask(r request) *exchange {
	if s.memo[r] == nil {
		sent, name := r, fmt.Sprintf("%s %d", s.tag, len(s.memo))
		sent.body = strings.NewReplacer(
			"$name", `"`+name+`"`,
			"$unicode", `"`+name+` <ÿ ж 犬 🐾> \"\\\u0001"`,
			"$category", fmt.Sprint(cmp.Or(s.target.CategoryID, 1)),
		).Replace(r.body)
		s.memo[r] = s.askPolitely(sent)
	}
	return s.memo[r]
}

// askPolitely sends a request when the key's quota allows it. If it gets a 429 nevertheless, it
// waits and sends the request again.
func (s *session) askPolitely(r request) *exchange {
	for range 2 {
		s.waitUntil(s.resume)
		if x := s.send(r); x.status != http.StatusTooManyRequests {
			return x
		}
	}
	s.stop(skip("the service sent another 429 after the wait that the first had asked for"))
	return nil
}

// stop ends this check, and every later one that would send a request.
func (s *session) stop(err error) {
	s.stopped = err
	fail(err)
}

// send sends a request, whatever the quota is.
func (s *session) send(r request) *exchange {
	if s.stopped != nil {
		fail(s.stopped)
	}
	x, err := s.roundTrip(r)
	if err != nil {
		err = fmt.Errorf("the service did not answer %s %s: %w", r.method, r.path, err)
		s.broken++
		if s.broken > 1 {
			s.stop(err) // the service is down: further timeouts would show nothing new
		}
		fail(err)
	}
	s.broken = 0
	s.log = append(s.log, x)
	limited := x.status == http.StatusTooManyRequests
	if q := x.quota(); limited || r.auth == validKey && q.known && q.remaining <= spare {
		s.resume = comeBack(x)
	}
	return x
}

func (s *session) roundTrip(r request) (*exchange, error) {
	target := s.target.BaseURL + r.path
	req, err := http.NewRequestWithContext(s.ctx, r.method, target, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.body != "" || r.method == http.MethodPost {
		req.Header.Set("Content-Type", mediaJSON)
	}
	if r.auth != noKey {
		key := s.target.APIKey
		req.Header.Set("Authorization", strings.NewReplacer("$key", key, "$half", key[:len(key)/2]).Replace(r.auth))
	}
	req.Header.Set("Accept", mediaJSON)
	req.Header.Set("User-Agent", "petstore-go-conformance")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, err
	}
	// Messages go into logs: the key is taken out, which a response may repeat.
	key := s.target.APIKey
	response, header := safetext.Redact(string(body), key, key[:len(key)/2]), safetext.Header(resp.Header, key)
	return &exchange{r, resp.StatusCode, header, response, time.Now()}, nil
}

// waitUntil waits, or stops the session if that takes longer than a test should.
func (s *session) waitUntil(end time.Time) {
	d := time.Until(end)
	if d > patience {
		s.stop(skip(fmt.Sprintf("the quota is used up until %s, which is too long to wait",
			end.UTC().Format(time.RFC3339))))
	}
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
		fail(context.Cause(s.ctx))
	}
}

// comeBack returns when a response allows the next request: the latest of the times that it names,
// or in a minute if it names none.
func comeBack(x *exchange) time.Time {
	end := service.RetryAfter(x.header.Get("Retry-After"), x.date()) // the zero time if it asks for nothing
	if q := x.quota(); q.known && q.reset.After(end) {
		end = q.reset
	}
	if end.After(x.date()) {
		return x.local(end)
	}
	return x.at.Add(time.Minute)
}

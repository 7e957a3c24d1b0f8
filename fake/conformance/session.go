package conformance

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// session is one run against a service. It sends one request at a time. It remembers the responses,
// since many clauses look at the same response.
type session struct {
	target  Target
	client  http.Client
	tag     string // the names of the pets that it adds begin with tag
	memo    map[request]*exchange
	log     []*exchange
	overrun func() *exchange // the first call provokes a 429; each call returns that 429
	resume  time.Time        // when the key has quota again
	stopped *problem         // why no more requests are sent; nil while they are
}

func newSession(target Target) *session {
	client := http.Client{Timeout: 30 * time.Second}
	if target.HTTPClient != nil {
		client = *target.HTTPClient
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	tag := fmt.Sprintf("petstore-go conformance %06x", rand.IntN(1<<24))
	s := &session{target: target, client: client, tag: tag, memo: make(map[request]*exchange)}
	s.overrun = sync.OnceValue(s.provoke)
	return s
}

// ask returns the response to a request. It sends an equal request only once, but a GET again if a
// pet was added since. It waits until the key's quota allows the request. If the response is a 429
// nevertheless, it waits and sends the request once more.
func (s *session) ask(r request) *exchange {
	for range 2 {
		if x := s.memo[r]; x != nil {
			return x
		}
		s.waitUntil(s.resume)
		if x := s.send(r); x.status != http.StatusTooManyRequests {
			s.memo[r] = x
			return x
		}
	}
	s.stop(true, "the service sent another 429 after the wait that the first had asked for")
	return nil
}

// patience is the longest wait: a window of a minute, and as much again for a clock that is slow.
const patience = 2 * time.Minute

// waitUntil waits until end. If that is too long for a test, it stops the session.
func (s *session) waitUntil(end time.Time) {
	d := time.Until(end)
	if d > patience {
		s.stop(true, "the quota is used up for %v, too long to wait", d.Round(time.Second))
	}
	time.Sleep(d)
}

// stop ends this check, as failed or skipped, and every later one that would send a request.
func (s *session) stop(skip bool, format string, args ...any) {
	s.stopped = &problem{fmt.Sprintf(format, args...), skip}
	panic(s.stopped)
}

// send sends a request, whatever the quota is.
func (s *session) send(r request) *exchange {
	if s.stopped != nil {
		panic(s.stopped)
	}
	x, err := s.roundTrip(r)
	if err != nil {
		// The service is down: more requests would only show more timeouts.
		s.stop(false, "expected a response to %s %s, got none: %v", r.method, r.path, err)
	}
	s.log = append(s.log, x)
	if r.method == http.MethodPost && x.success() {
		maps.DeleteFunc(s.memo, func(r request, _ *exchange) bool { return r.method == http.MethodGet })
	}
	const spare = 1 // number of requests that are left to other users of the key
	q, ok := x.quota()
	if x.status == http.StatusTooManyRequests || r.auth == validKey && ok && q.remaining <= spare {
		s.resume = x.at.Add(x.wait())
	}
	return x
}

// roundTrip sends a request, with a value in place of each variable such as $name. Each pet gets a
// name of its own, since a service may accept a name only once.
func (s *session) roundTrip(r request) (*exchange, error) {
	name, key := fmt.Sprintf("%s %d", s.tag, len(s.log)+1), s.target.APIKey
	upper := strings.ToUpper(key)
	if upper == key {
		upper += "x" // without small letters, it would be the valid key
	}
	variables := strings.NewReplacer(
		"$name", `"`+name+`"`,
		"$unicode", `"`+name+` <ÿ ж 犬 🐾> \"\\\u0001"`,
		"$category", fmt.Sprint(cmp.Or(s.target.CategoryID, 1)),
		"$key", key, "$half", key[:len(key)/2], "$KEY", upper,
	)
	r.body = variables.Replace(r.body)
	req, err := http.NewRequest(r.method, strings.TrimRight(s.target.BaseURL, "/")+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "petstore-go-conformance")
	if r.auth != noKey {
		req.Header.Set("Authorization", variables.Replace(r.auth))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	x := &exchange{request: r, status: resp.StatusCode, header: resp.Header, response: string(body), at: time.Now()}
	x.date, _ = http.ParseTime(resp.Header.Get("Date"))
	if x.date.IsZero() {
		x.date = x.at
	}
	return x, err
}

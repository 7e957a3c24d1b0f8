package scripttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

const long = 100 * time.Hour

// addWords adds the words that all scripts have.
func (s *Script) addWords() {
	s.Word("get", `is a request that ends at once; "get 60 59" has the response "200 60 59"`, func() {
		response := append([]string{"200"}, s.Texts...)
		s.Do("ask")
		s.Settle()
		s.Do(response...)
	})
	asks := func(r ratelimit.Request) func() { return func() { s.ask(r) } }
	s.Word("ask", "begins a request, or as many as the number says", asks(ratelimit.Request{MaxWait: long}))
	s.Word("now", "is like ask, with a MaxWait of 0", asks(ratelimit.Request{}))
	s.Word("background", "is like ask, with Background", asks(ratelimit.Request{MaxWait: long, Background: true}))
	s.Word("again", "is like ask; the start of the script is Asked",
		asks(ratelimit.Request{MaxWait: long, Asked: s.start}))
	s.Word("pause", `"pause 9s 1m" begins a request with a NotBefore in 9s, and a MaxWait of 1m`, func() {
		s.ask(ratelimit.Request{NotBefore: s.Now().Add(s.Times[0]), MaxWait: s.Times[1]})
	})
	s.Word("leave", "ends the context of the request with this number; without a number, of all", s.leave)
	s.Word("end", "ends the contexts of all requests; those of later requests end after this time", func() {
		ctx, cancel := context.WithTimeout(s.Context(), s.Times[0])
		s.Cleanup(cancel)
		s.leave()
		s.Ctx = ctx
	})
	s.Word("reopen", "calls Reopen", func() { s.Reopen(s.Key) })
	s.Word("clock", "moves the wall clock", func() { s.ahead.Add(int64(s.Times[0])) })
	s.addEndingWords()
	s.addShowingWords()
}

// addEndingWords adds the words that end a request in flight.
func (s *Script) addEndingWords() {
	s.Word("status", `"429 20s 60 5 1h" ends the oldest request in flight with this status, a Retry-After of 20s, `+
		"a Limit of 60, a Remaining of 5, and a Reset in 1h", s.respond)
	s.Word("lost", "ends the oldest request in flight, without a response", func() {
		s.Release(ratelimit.Outcome{Sent: s.Now()})
	})
	s.Word("unsent", "ends the oldest request in flight, which was not sent", func() { s.Release(ratelimit.Outcome{}) })
	s.Word("last", "does the word after it with the newest request in flight", func() {
		newest := max(0, len(s.Permits)-1)
		s.Permits = slices.Concat(s.Permits[newest:], s.Permits[:newest])
		s.Do(s.Texts...)
	})
}

// addShowingWords adds the words that show something.
func (s *Script) addShowingWords() {
	show := func(name, meaning string, value func() any) {
		s.Word(name, meaning, func() { s.Shown = fmt.Sprint(value()) })
	}
	show("next", "waits until a request is in flight, 20s at most, and shows the numbers of all in flight, counted "+
		"from 1; no window, Retry-After or NotBefore may end after their permits", s.next)
	show("waiting", "shows the number of requests in Acquire", func() any { return s.Waiting })
	show("heard", `shows what observers were told since the last "heard"; "heard closed" shows how often they were `+
		"told so since the start", s.heardSo)
	show("sent", "shows Sent, Limit and Processes of the last reported lockout", func() any {
		return fmt.Sprint(s.last.Sent, " of ", s.last.Window.Limit, " by ", s.last.Processes)
	})
	show("place", "shows the place in the queue of the request that began to wait last", func() any { return s.place })
	show("window", "shows what RateLimit returns", func() any { return s.RateLimit(s.Key).LogValue() })
	show("until", "shows how long the last request must wait, which was refused, and why", s.until)
	show("closed", "begins a request with a MaxWait of 0, and shows how long it must wait, and why", func() any {
		s.Do("now")
		s.Settle()
		return s.until()
	})
}

// leave also lets later requests have a context without an end.
func (s *Script) leave() {
	for i, cancel := range s.cancels {
		if len(s.Numbers) == 0 || s.Numbers[0] == i+1 {
			cancel(errors.New("it left"))
		}
	}
	s.Ctx = s.Context()
}

func (s *Script) next() any {
	s.await(func() bool { return len(s.Permits) > 0 })
	var numbers []int
	for _, p := range s.Permits {
		numbers = append(numbers, p.number)
		s.must(!p.sent.Before(s.opens), "request %d got its permit %v too early", p.number, s.opens.Sub(p.sent))
	}
	return cmp.Or(strings.Trim(fmt.Sprint(numbers), "[]"), "none")
}

func (s *Script) heardSo() any {
	if len(s.Texts) > 0 {
		what := strings.Join(s.Texts, " ")
		return strings.Count("; "+strings.Join(s.heard, "; "), "; "+what)
	}
	news := s.heard[s.shown:]
	s.shown = len(s.heard)
	return cmp.Or(strings.Join(news, "; "), "nothing")
}

func (s *Script) until() any {
	if s.Refused == nil {
		s.Errorf("the last request was not refused")
		return ""
	}
	s.checkWindow(s.Refused.Window)
	return strings.TrimSpace(s.span(s.Now(), s.Refused.RetryAt) + " " + string(s.Refused.Reason))
}

package petstoreredis_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/internal/scripttest"
	"github.com/petstore/petstore-go/petstoreredis"
	"github.com/petstore/petstore-go/ratelimit"
)

// perform runs a subtest for each row, which has a name and a script. Package scripttest explains
// the words of scripts, except those below. A process may stand before a word: "b ask" is a request
// of b. By default it is "a".
func perform(t *testing.T, rows [][2]string) {
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, r *virtualRedis) {
				s := &script{Script: scripttest.Script{T: t}, redis: r}
				s.Words = s.words()
				s.begin()
				s.Run(row[1] + ", up, leave")
				assert.Zero(t, s.Waiting)
			})
		})
	}
}

type script struct {
	scripttest.Script
	redis *virtualRedis
	log   bytes.Buffer
}

func (s *script) words() map[string]func() {
	return map[string]func(){
		"abandoned": func() { s.Release(ratelimit.Outcome{Sent: s.Now(), Abandoned: true}) }, // ends a request
		"observer":  func() { s.HoldUp = s.Times[0] },                                        // later reports take this long
		"share":     func() { s.begin(petstoreredis.WithShare(s.Numbers[0])) },               // all processes begin anew
		// These words change Redis.
		"broken":    func() { s.redis.broken.Store(true) },                   // no connections
		"silent":    func() { s.redis.silent.Store(true) },                   // no replies
		"replylost": func() { s.redis.lost.Store(true) },                     // the next reply
		"error":     func() { s.redis.SetError(strings.Join(s.Texts, " ")) }, // in each reply
		"slow":      func() { s.redis.latency.Store(int64(s.Times[0])) },     // each command
		"up":        s.redis.repair,                                          // works again
		"ahead":     func() { s.redis.ahead.Add(int64(s.Times[0])) },         // moves its clock
		"empty":     s.redis.FlushAll,
		"set":       func() { s.redis.HSet(s.pot(), s.Texts...) }, // a field of the pot
		// These words show something.
		"waiting": func() { s.Shown = fmt.Sprint(s.Waiting) }, // requests in Acquire
		"ttl":     func() { s.Shown = s.redis.TTL(s.pot()).String() },
		"flush":   func() { s.Shown = fmt.Sprint(s.Limiter.(*petstoreredis.Limiter).Flush(s.Ctx)) },
		"log":     s.checkLog, // since the last "log" there is one line with these words; without words, no line
		"commands": func() { // at most this number since the last "commands"
			assert.LessOrEqual(s, s.redis.evals.Swap(0), int64(s.Numbers[0]), "commands")
		},
	}
}

func (s *script) begin(opts ...petstoreredis.Option) {
	opts = append(opts, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(&s.log, nil))))
	for _, name := range []string{"d", "c", "b", "a"} {
		l := s.redis.process(s.T, opts...)
		l.SetClock(s.Now)
		p := &scripttest.Process{Limiter: l}
		s.Words[name] = func() {
			old := s.Process
			s.Process = p
			s.Do(s.Texts)
			s.Process = old
		}
		s.Process = p // at last "a"
	}
}

func (s *script) pot() string { return s.redis.Keys()[0] }

func (s *script) checkLog() {
	for _, text := range s.Texts {
		assert.Contains(s, s.log.String(), text)
	}
	assert.Equal(s, min(1, len(s.Texts)), strings.Count(s.log.String(), "\n"), s.log.String())
	s.log.Reset()
}

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
				s.addWords()
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

func (s *script) addWords() {
	s.Word("share", "all processes begin anew with this share", func() { s.begin(petstoreredis.WithShare(s.Numbers[0])) })
	s.Word("observer", "reports to observers of later requests take this long", func() { s.HoldUp = s.Times[0] })
	s.Word("abandoned", "ends the oldest request in flight, as abandoned", func() {
		s.Release(ratelimit.Outcome{Sent: s.Now(), Abandoned: true})
	})
	r := s.redis
	s.Word("broken", "Redis has no connections", func() { r.broken.Store(true) })
	s.Word("silent", "Redis sends no replies", func() { r.silent.Store(true) })
	s.Word("cut", "the next command is lost", func() { r.cut.Store(true) })
	s.Word("replylost", "the next reply is lost", func() { r.lost.Store(true) })
	s.Word("error", "each reply is this error", func() { r.SetError(strings.Join(s.Texts, " ")) })
	s.Word("slow", "each command takes this long", func() { r.latency.Store(int64(s.Times[0])) })
	s.Word("up", "Redis works again", r.repair)
	s.Word("ahead", "moves the clock of Redis", func() { r.ahead.Add(int64(s.Times[0])) })
	s.Word("empty", "removes all pots", r.FlushAll)
	s.Word("forgetful", "Redis drops each pot at once", func() { r.forgets.Store(true) })
	s.Word("set", "sets a field of the pot", func() { r.HSet(s.pot(), s.Texts...) })
	s.Word("remaining", "shows Remaining of RateLimit", func() { s.Shown = fmt.Sprint(s.RateLimit("").Remaining) })
	s.Word("ttl", "shows how long the pot is kept", func() { s.Shown = r.TTL(s.pot()).String() })
	s.Word("flush", "shows what Flush returns", func() {
		s.Shown = fmt.Sprint(s.Limiter.(*petstoreredis.Limiter).Flush(s.Ctx))
	})
	s.Word("log", `checks that since the last "log" one line was logged, with these texts; without texts, none`, s.checkLog)
	s.Word("commands", `checks that there are at most so many since the last "commands"`, func() {
		assert.LessOrEqual(s, r.evals.Swap(0), int64(s.Numbers[0]), "commands")
	})
}

func (s *script) begin(opts ...petstoreredis.Option) {
	opts = append(opts, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(&s.log, nil))))
	for _, name := range []string{"d", "c", "b", "a"} {
		l := s.redis.process(s.T, opts...)
		l.SetClock(s.Now)
		p := &scripttest.Process{Limiter: l}
		s.Word(name, "does the word after it in another process", func() { s.DoAs(p) })
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

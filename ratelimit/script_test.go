package ratelimit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/internal/scripttest"
	"github.com/petstore/petstore-go/ratelimit"
)

// perform runs a subtest for each row, which has a name and a script. Package scripttest explains
// the words of scripts, except those below.
func perform(t *testing.T, rows [][2]string) {
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripttest.Script{T: t}
				s.Word("processes", "makes a limiter with this number of Processes", func() { begin(s, s.Numbers[0]) })
				s.Word("dateless", "later responses have no Date", func() { s.Dateless = true })
				s.Word("free", "ends all requests in flight, as unsent", func() { free(s) })
				s.Word("opens", "is like closed; the key must open at the time shown", func() { opens(s) })
				begin(s, 0)
				s.Run(row[1] + ", leave, free")
			})
		})
	}
}

// begin makes a limiter that knows nothing but the number of processes.
func begin(s *scripttest.Script, processes int) {
	l := ratelimit.New(ratelimit.Processes(processes))
	l.SetClock(s.Now)
	s.Process = &scripttest.Process{Limiter: l}
	s.Cleanup(func() { assert.True(s.T, s.Failed() || l.Idle(), "requests or a timer") })
}

func free(s *scripttest.Script) {
	for len(s.Permits) > 0 {
		s.Release(ratelimit.Outcome{})
		s.Settle() // requests that got a permit meanwhile
	}
}

func opens(s *scripttest.Script) {
	s.Do("closed")
	at, permits := s.Refused.RetryAt, len(s.Permits)
	s.Do("ask")
	s.Sleep(at.Sub(s.Now()) - time.Nanosecond)
	assert.Len(s, s.Permits, permits, "opens too early")
	s.Sleep(time.Nanosecond)
	assert.Len(s, s.Permits, permits+1, "opens too late")
}

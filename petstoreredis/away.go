package petstoreredis

import (
	"context"
	"log/slog"
	"time"
)

const (
	// tryEvery is how long Redis is left alone after it did not answer.
	tryEvery = time.Second
	// firstTimeout is how long a command may take at least until a process has settled: the first ones dial, say hello
	// and load the script, and a process that knows nothing has no part of the key.
	firstTimeout = time.Second
	// settled is how long after a process has met Redis all others have as well.
	settled = 10 * time.Second
	// calm is how long Redis has to be there for the next fallback to count as the first.
	calm = time.Minute
	// mostTries bounds how many commands in a row have to succeed before a fallback ends.
	mostTries = 8
	// logEvery is the least time between two lines of the log.
	logEvery = time.Minute
)

// absence is what a limiter knows of the times without Redis.
type absence struct {
	heard  time.Time // when Redis answered first
	most   int       // processes that it knew of at a time within the last minute
	mostAt time.Time // when
	alone  *solo     // what this process may send meanwhile; nil while Redis answers

	since   time.Time
	back    time.Time // when the last one ended
	tryAt   time.Time
	tries   int // in a row that succeeded
	needed  int // of them to end it
	count   int // so far
	total   time.Duration
	reason  error
	log     notes
	repairs int
}

// notes is what was logged of absences.
type notes struct {
	away  bool // what the last line said
	next  time.Time
	count int // absence.count then
	timer *time.Timer
}

// timeout is how long the command that is sent now may take.
func (l *Limiter) timeout() time.Duration {
	if heard := l.absence.heard; heard.IsZero() || time.Since(heard) < settled {
		return max(l.config.timeout, firstTimeout)
	}
	return l.config.timeout
}

// share is among how many processes the key is divided, and whether that is known. Just after the start the others may
// not have been heard of yet.
func (l *Limiter) share(now time.Time) (processes int, known bool) {
	a := &l.absence
	switch {
	case l.config.share > 0:
		return l.config.share, true
	case a.heard.IsZero() || now.Sub(a.heard) < settled:
		return max(a.most, unknownShare), false
	}
	return a.most, true
}

// meet notes how many processes there are.
func (a *absence) meet(processes int, now time.Time) {
	if a.heard.IsZero() {
		a.heard = now
	}
	if processes >= a.most || now.Sub(a.mostAt) > calm {
		a.most, a.mostAt = processes, now
	}
}

// lose goes on without Redis.
func (l *Limiter) lose(now time.Time, err error) {
	a := &l.absence
	a.tryAt, a.tries = now.Add(tryEvery), 0
	if a.alone != nil {
		return
	}
	if a.needed == 0 || now.Sub(a.back) > calm {
		a.needed = 1
	} else {
		a.needed = min(2*a.needed, mostTries)
	}
	share, known := l.share(now)
	a.alone = newSolo(&l.known, share, l.inFlight, now)
	a.alone.known = known
	a.since, a.reason = now, err
	a.count++
	l.unused = nil
	l.note(now)
	l.refuse(now, l.seq, true)
}

// regain notes that a command has come back in time, and ends the fallback if these are enough. A Redis that now
// and then needs too long would otherwise have the process change its mind each second.
func (l *Limiter) regain(now time.Time) {
	a := &l.absence
	a.tries++
	a.tryAt = now.Add(tryEvery)
	if a.tries < a.needed {
		return
	}
	a.alone, a.back = nil, now
	a.total += now.Sub(a.since)
	l.note(now)
}

// note logs that Redis is away or back, at most once in logEvery: what changes before is told when that is over.
func (l *Limiter) note(now time.Time) {
	a := &l.absence
	n := &a.log
	away := a.alone != nil
	if l.config.logger == nil || n.timer != nil || away == n.away {
		return
	}
	if now.Before(n.next) {
		n.timer = time.AfterFunc(n.next.Sub(now), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			n.timer = nil
			l.note(time.Now())
		})
		return
	}
	fields := []slog.Attr{
		slog.String("name", l.label), slog.Int("fallbacks", a.count-n.count), slog.Duration("away", a.total),
	}
	n.away, n.next, n.count = away, now.Add(logEvery), a.count
	log := l.config.logger.LogAttrs // on a goroutine of its own: it runs code of the user's, which may call the limiter
	if !away {
		go log(context.Background(), slog.LevelWarn, "petstoreredis: redis is back", fields...)
		return
	}
	fields = append(fields, slog.String("error", a.reason.Error()), slog.Int("share", a.alone.share))
	go log(context.Background(), slog.LevelWarn, "petstoreredis: redis is away, this process keeps to its share",
		fields...)
}

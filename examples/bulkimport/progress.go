package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const redrawEvery = 100 * time.Millisecond

// progress shows how far a job is: on a terminal in one line that changes, elsewhere in a line now
// and then.
type progress struct {
	job    *job
	w      io.Writer
	width  func() int // of the terminal, in columns; nil if there is none
	start  time.Time
	before int       // rows done in earlier runs
	done   int       // rows at the last look
	moved  time.Time // when that changed
	tenth  int       // of the rows, in the last line
	notice string    // in the last line
}

// showProgress shows the progress of a job on w until ctx ends.
func showProgress(ctx context.Context, j *job, w io.Writer) {
	p := &progress{job: j, w: w, start: time.Now(), moved: time.Now(), before: j.decided()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.width = func() int {
			width, _, _ := term.GetSize(int(f.Fd()))
			return width
		}
		defer fmt.Fprintln(w)
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(redrawEvery):
		}
		p.draw(time.Now())
	}
}

func (p *progress) draw(now time.Time) {
	done, total := p.job.decided(), max(p.job.input.rows, 1)
	if done != p.done {
		p.done, p.moved = done, now
	}
	notice, line := p.holdup(now), ""
	text := notice
	if p.job.stopping.Err() == nil {
		rate := float64(done-p.before) / max(now.Sub(p.start), redrawEvery).Seconds()
		text = fmt.Sprintf("%s left, %.1f/s, %s", p.job.timeLeft(now, rate).Round(time.Second), rate, notice)
		text = strings.TrimSuffix(text, ", ")
		line = fmt.Sprintf("%3d%% %d/%d, ", done*100/total, done, total)
	}
	if tenth := done * 10 / total; p.width != nil {
		width := max(p.width()-1, 0) // a terminal wraps after the last column
		line += text
		fmt.Fprintf(p.w, "\r%-*s", width, line[:min(len(line), width)])
	} else if tenth != p.tenth || notice != p.notice && notice != "" {
		p.tenth, p.notice = tenth, notice
		fmt.Fprintf(p.w, "%6s  %d of %d rows, %s\n", now.Sub(p.start).Round(time.Second), done, total, text)
	}
}

// holdup says what keeps rows from being sent, empty if nothing does.
func (p *progress) holdup(now time.Time) string {
	flying, waiting := p.job.flying.Load(), p.job.waiting.Load()
	limit, look, slow := p.job.client.RateLimit(), p.job.look.Load(), now.Sub(p.moved) >= time.Second
	switch {
	case p.job.stopping.Err() != nil:
		return fmt.Sprintf("stopping, again to stop at once, %d on their way", flying)
	case look != nil:
		return "no response, looks again at " + look.Local().Format(time.TimeOnly)
	case waiting > 0 && limit.Limit > 0 && limit.Remaining == 0 && limit.Reset.After(now):
		return fmt.Sprintf("waits until %s for the next %d", limit.Reset.Local().Format(time.TimeOnly), limit.Limit)
	case waiting > 0 && slow:
		return "waits for the rate limit"
	case flying > 0 && slow:
		return fmt.Sprintf("waits for %d responses", flying)
	}
	return ""
}

// timeLeft returns how long the rest takes: at the rate so far or, under a limit, until the last
// window that it needs is open.
func (j *job) timeLeft(now time.Time, rate float64) time.Duration {
	rows, limit := j.journal.rows(waiting, unsent, sending), j.client.RateLimit()
	reset, window := limit.Reset.Sub(now), j.to.minute
	if later := rows - limit.Remaining; limit.Limit > 0 && later > 0 && reset > 0 {
		if reset > window+time.Second {
			window = 24 * time.Hour
		}
		return reset + time.Duration((later-1)/limit.Limit)*window
	}
	return time.Duration(float64(rows) / max(rate, 1e-3) * float64(time.Second))
}

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

// progress shows how far an import is: on a terminal as one line that changes, elsewhere as a line
// now and then.
type progress struct {
	job    *job
	w      io.Writer
	width  func() int // of the terminal, in columns; nil: there is none
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
	timer := time.NewTimer(redrawEvery)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-timer.C:
			timer.Reset(redrawEvery)
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
		text = fmt.Sprintf("%s left, %.1f/s, %s", p.job.timeLeft(now).Round(time.Second), rate, notice)
		text = strings.TrimSuffix(text, ", ")
		line = fmt.Sprintf("%3d%% %d/%d, ", done*100/total, done, total)
	}
	if tenth := done * 10 / total; p.width != nil {
		fmt.Fprint(p.w, "\r"+screen(p.width(), done, total, line+text))
	} else if tenth != p.tenth || notice != p.notice && notice != "" {
		p.tenth, p.notice = tenth, notice
		fmt.Fprintf(p.w, "%6s  %d of %d rows, %s\n", now.Sub(p.start).Round(time.Second), done, total, text)
	}
}

// holdup is what keeps rows from being sent, empty if nothing does.
func (p *progress) holdup(now time.Time) string {
	flying, waiting := p.job.flying.Load(), p.job.gate.waiting.Load()
	limit, look, slow := p.job.client.RateLimit(), p.job.look.Load(), now.Sub(p.moved) >= time.Second
	switch {
	case p.job.stopping.Err() != nil:
		return fmt.Sprintf("stopping, again to stop at once, %d on their way", flying)
	case look != nil:
		return "no response, looks again at " + look.Local().Format(time.TimeOnly)
	case waiting > 0 && limit.Limit > 0 && limit.Remaining == 0 && limit.Reset.After(now):
		return fmt.Sprintf("waits until %s for %d more", limit.Reset.Local().Format(time.TimeOnly), limit.Limit)
	case waiting > 0 && slow:
		return "waits for the rate limit"
	case flying > 0 && slow:
		return fmt.Sprintf("waits for %d responses", flying)
	}
	return ""
}

// timeLeft is how long the rest takes: under a limit, until the last window that it needs is open.
func (j *job) timeLeft(now time.Time) time.Duration {
	rows, limit := j.journal.rows(waiting, unsent, sending), j.client.RateLimit()
	each := time.Duration(j.gate.took.Load()) / time.Duration(steady)
	reset, window := limit.Reset.Sub(now)-time.Duration(j.gate.ahead.Load()), j.to.minute
	if reset <= 0 {
		limit.Remaining, reset = limit.Limit, window
	}
	if reset > window+time.Second {
		window = 24 * time.Hour
	}
	later := rows - limit.Remaining
	if limit.Limit == 0 || later <= 0 {
		return time.Duration(rows) * each
	}
	full := (later - 1) / limit.Limit // windows that it uses up, after this one
	return reset + time.Duration(full)*window + time.Duration(later-full*limit.Limit)*each
}

// screen is a line that fits a terminal, whatever its width: the bar gets what is left.
func screen(width, done, total int, line string) string {
	width = max(width-1, 0) // beyond the last column a terminal begins a new line
	if room := min(24, width-len(line)-3); room > 3 {
		full := done * room / total
		line += " [" + strings.Repeat("#", full) + strings.Repeat(" ", room-full) + "]"
	}
	return fmt.Sprintf("%-*s", width, line[:min(len(line), width)])
}

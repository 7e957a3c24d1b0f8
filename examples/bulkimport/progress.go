package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const redrawEvery = 100 * time.Millisecond

// progress is what was last shown of a job.
type progress struct {
	job    *job
	done   int       // rows
	moved  time.Time // when that changed
	notice string    // why rows have to wait
}

// showProgress shows how far a job is on w until ctx ends: on a terminal by a bar, elsewhere in a line
// for each tenth of the rows and each notice.
func showProgress(ctx context.Context, j *job, w io.Writer) {
	f, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	bar := progressbar.NewOptions(j.input.rows, progressbar.OptionSetWriter(w), progressbar.OptionFullWidth(),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetVisibility(terminal))
	p := progress{job: j, done: j.decided(), moved: time.Now()}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(redrawEvery):
		}
		line := p.look(time.Now())
		if bar.Describe(p.notice); terminal {
			_ = bar.Set(p.done)
		} else if line != "" {
			fmt.Fprintln(w, line)
		}
	}
	if terminal {
		fmt.Fprintln(w)
	}
}

// look returns the line to print, "" if nothing is new.
func (p *progress) look(now time.Time) string {
	rows, done := p.job.input.rows, p.job.decided()
	tenth := done*10/max(rows, 1) != p.done*10/max(rows, 1)
	if done != p.done {
		p.done, p.moved = done, now
	}
	before := p.notice
	if p.notice = p.job.holdup(now, p.moved); !tenth && (p.notice == "" || p.notice == before) {
		return ""
	} else if p.notice == "" {
		return fmt.Sprintf("%d of %d rows", done, rows)
	}
	return fmt.Sprintf("%d of %d rows, %s", done, rows, p.notice)
}

// holdup returns what keeps rows from being sent, "" if nothing does.
func (j *job) holdup(now, moved time.Time) string {
	flying, waiting := j.flying.Load(), j.waiting.Load()
	limit, look, slow := j.client.RateLimit(), j.look.Load(), now.Sub(moved) >= time.Second
	switch {
	case j.stopping.Err() != nil:
		return fmt.Sprintf("stopping, again to stop at once, %d in flight", flying)
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

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

// progress shows how far an import is: as a bar on a terminal, as a line now and then elsewhere.
type progress struct {
	job    *importer
	w      io.Writer
	bar    *progressbar.ProgressBar // nil: lines
	start  time.Time
	before int       // rows done in earlier runs
	done   int       // rows done at the last look
	moved  time.Time // when that changed
	tenth  int       // of the rows, that the last line told of
	waits  string    // what the last line told of
}

const (
	redrawEvery = 100 * time.Millisecond
	slow        = time.Second // for an answer
)

// showProgress shows the progress of job on w until ctx ends.
func showProgress(ctx context.Context, job *importer, w io.Writer) {
	p := &progress{job: job, w: w, start: time.Now(), before: job.decided()}
	p.done, p.moved = p.before, p.start
	p.tenth = p.tenthOf(p.before)
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(len(job.rows),
			progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(24), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
			progressbar.OptionShowDescriptionAtLineEnd())
		defer fmt.Fprintln(w)
	}
	timer := time.NewTimer(redrawEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			p.draw()
			return
		case <-timer.C:
			p.draw()
			timer.Reset(redrawEvery)
		}
	}
}

// draw shows the present state. A line is only worth printing if something has changed.
func (p *progress) draw() {
	done, total := p.job.decided(), len(p.job.rows)
	if done != p.done {
		p.done, p.moved = done, time.Now()
	}
	waits, until := p.waitsFor()
	pace := p.pace(done, total, time.Until(until))
	if p.bar != nil {
		p.bar.Describe(pace + waits)
		_ = p.bar.Set(done)
		return
	}
	tenth := p.tenthOf(done)
	if tenth == p.tenth && (waits == p.waits || waits == "") {
		return
	}
	p.tenth, p.waits = tenth, waits
	fmt.Fprintf(p.w, "%6s  %d of %d rows, %s%s\n", time.Since(p.start).Round(time.Second), done, total, pace, waits)
}

func (p *progress) tenthOf(done int) int { return done * 10 / max(len(p.job.rows), 1) }

// pace is the rate since the start and the time that the rest takes at this rate, which is no less than what
// the next row has to wait.
func (p *progress) pace(done, total int, wait time.Duration) string {
	rate := float64(done-p.before) / time.Since(p.start).Seconds()
	if done == p.before {
		return "0/s"
	}
	left := max(wait, time.Duration(float64(total-done)/rate*float64(time.Second)))
	return fmt.Sprintf("%.1f/s, %s left", rate, left.Round(time.Second))
}

// waitsFor is what keeps rows from being sent at this moment, empty if nothing does, and until when, if that is
// known.
func (p *progress) waitsFor() (string, time.Time) {
	limit := p.job.client.RateLimit()
	switch {
	case p.job.stopping.Err() != nil:
		return ", stops after the last answers", time.Time{}
	case p.job.waits.present() < redrawEvery:
		return p.waitsForAnswers(), time.Time{}
	case limit.Limit > 0 && limit.Remaining == 0:
		return fmt.Sprintf(", waits until %s for %d more", limit.Reset.Format(time.TimeOnly), limit.Limit), limit.Reset
	}
	return ", waits for the service to allow more", time.Time{}
}

func (p *progress) waitsForAnswers() string {
	if n := p.job.journal.rows(sending); n > 0 && time.Since(p.moved) >= slow {
		return fmt.Sprintf(", waits for answers: %d", n)
	}
	return ""
}

package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

const lookEvery = 100 * time.Millisecond

// showProgress shows how far a job is until ctx ends, by a line for each tenth of the rows and for
// each reason why rows have to wait.
func showProgress(ctx context.Context, j *job, w io.Writer) {
	rows, shown, notice := j.input.rows, j.decided(), ""
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
		done, before := j.decided(), notice
		notice = j.holdup()
		if done*10/max(rows, 1) == shown*10/max(rows, 1) && (notice == "" || notice == before) {
			continue
		}
		shown = done
		fmt.Fprintf(w, "%d of %d rows%s\n", done, rows, notice)
	}
}

// holdup returns what keeps rows from being sent, "" if nothing does.
func (j *job) holdup() string {
	limit, look := j.client.RateLimit(), j.look.Load()
	switch {
	case j.stopping.Err() != nil:
		return fmt.Sprintf(", stopping, again to stop at once, %d in flight", j.flying.Load())
	case look != nil:
		return ", no response, looks again at " + look.Local().Format(time.TimeOnly)
	case limit.Limit > 0 && limit.Remaining == 0 && limit.Reset.After(time.Now()):
		return fmt.Sprintf(", waits until %s for the next %d", limit.Reset.Local().Format(time.TimeOnly), limit.Limit)
	}
	return ""
}

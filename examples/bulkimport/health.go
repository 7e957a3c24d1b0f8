package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
)

// pace is how many creates may be in flight at a time.
type pace int32

const (
	paused  pace = 0 // until listPets shows that the service responds
	careful pace = 1 // until the outcome of a create is known
	steady  pace = 8 // enough for every plan; more would leave more undecided when the program is killed
)

// health is what the job knows about the service. It limits the creates during an outage: each of
// them is a row for a person to decide on.
type health struct {
	pace     pace
	patience time.Duration
	trouble  error                     // of the last create that was not confirmed
	since    time.Time                 // when that began
	looks    int                       // requests of listPets since then
	tries    int                       // creates in a row of unknown outcome; those sent together count as two
	tried    time.Time                 // the last of them
	look     atomic.Pointer[time.Time] // of the next listPets, while paused
}

// pauses are the waits after so many tries: creates become rarer, as each may be one more undecided
// row.
var pauses = [...]time.Duration{
	3: time.Second, 4: 8 * time.Second, 5: 64 * time.Second, 6: 100 * time.Second, 7: 100 * time.Second,
	8: 5 * time.Minute,
}

// begin starts with the outage in which an earlier run ended, if it did.
func (h *health) begin(patience time.Duration, down entry) {
	h.pace, h.patience = careful, patience
	if down.Tries > 0 {
		h.pace, h.since, h.tries, h.tried = paused, time.Now(), down.Tries, down.Time
		h.trouble = errors.New("the outcome of the last creates is not known")
	}
}

// confirmed notes that the outcome of a create is known. The create may have been sent before an
// outage, and so the pace comes back in steps.
func (h *health) confirmed() {
	h.pace = min(2*max(h.pace, careful), steady)
	h.trouble, h.since, h.looks, h.tries = nil, time.Time{}, 0, 0
}

// hindered notes that a create came to an unknown outcome or was not sent.
func (h *health) hindered(err error, unknown bool) {
	h.trouble = err
	if h.since.IsZero() {
		h.since = time.Now()
	}
	if unknown && h.pace != paused {
		h.tries, h.tried = h.tries+1, time.Now()
	}
	if h.pace = min(h.pace, careful); !unknown || h.tries > 1 {
		h.pace = paused
	}
}

// pause waits until the next create may be tried, and asks listPets whether the service responds.
// The journal keeps the number of tries, so that restarts do not try more often.
func (j *job) pause() {
	if j.tries > 1 && j.tries != j.journal.down.Tries {
		_ = j.journal.write(entry{Event: down, Tries: j.tries})
	}
	at := time.Now().Add(time.Second<<min(j.looks, 5) - time.Second)
	if next := j.tried.Add(pauses[min(j.tries, len(pauses)-1)]); next.After(at) {
		at = next
	}
	if at.Sub(j.since) > j.patience {
		j.stop(fmt.Errorf("no create was confirmed for %s, the next try is at %s or with -now: %w",
			j.patience, at.Format(time.TimeOnly), j.trouble))
		return
	}
	j.look.Store(&at)
	defer j.look.Store(nil)
	select {
	case <-j.stopping.Done():
		return
	case <-time.After(time.Until(at)):
	}
	once := petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1})
	_, err := j.client.ListPets(j.stopping, petstore.ListPetsParams{Limit: 1}, once)
	switch j.looks++; {
	case err == nil || statusOf(err) != 0 && !transient(err):
		j.pace = careful
	case transient(err):
		j.trouble = err
	default:
		j.stop(err)
	}
}

// transient reports whether a later request may succeed. The outcome of the request with err is
// known.
func transient(err error) bool {
	if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok {
		return time.Until(limited.RetryAt) <= 2*time.Minute // the longest wait of the client
	}
	if status := statusOf(err); status != 0 {
		return status == http.StatusRequestTimeout || status >= 500 && status != http.StatusNotImplemented
	}
	missing, ok := errors.AsType[*net.DNSError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return !untrusted && !(ok && missing.IsNotFound)
}

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
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
	look     atomic.Pointer[time.Time] // of the next listPets, while paused
	outage
}

// outage is what the journal keeps of an outage, so that restarts do not try more often.
type outage struct {
	Tries int       `json:"tries"` // creates in a row of unknown outcome; those sent together count as two
	Tried time.Time `json:"tried"` // the last of them
}

// pauses are the waits after so many tries: creates become rarer, as each may be one more undecided
// row.
var pauses = [...]time.Duration{
	3: time.Second, 4: 8 * time.Second, 5: 64 * time.Second, 6: 100 * time.Second, 7: 100 * time.Second,
	8: 5 * time.Minute,
}

// begin starts with the outage in which an earlier run ended, if it did.
func (h *health) begin(patience time.Duration, down outage) {
	h.pace, h.patience, h.outage = careful, patience, down
	if down.Tries > 0 {
		h.pace, h.since = paused, time.Now()
		h.trouble = errors.New("the outcome of the last creates is not known")
	}
}

// confirmed notes that the outcome of a create is known. The create may have been sent before an
// outage, and so the pace comes back in steps.
func (j *job) confirmed() {
	if j.Tries > 1 {
		_ = j.journal.keep(downKey, outage{})
	}
	j.pace = min(2*max(j.pace, careful), steady)
	j.trouble, j.since, j.looks, j.outage = nil, time.Time{}, 0, outage{}
}

// hindered notes that a create came to an unknown outcome or was not sent.
func (j *job) hindered(err error, unknown bool) {
	j.trouble = err
	if j.since.IsZero() {
		j.since = time.Now()
	}
	if unknown && j.pace != paused {
		if j.outage = (outage{j.Tries + 1, time.Now()}); j.Tries > 1 {
			_ = j.journal.keep(downKey, j.outage)
		}
	}
	if j.pace = min(j.pace, careful); !unknown || j.Tries > 1 {
		j.pace = paused
	}
}

// pause waits until the next create may be tried, and asks listPets whether the service responds.
func (j *job) pause() {
	at := time.Now().Add(time.Second<<min(j.looks, 5) - time.Second)
	if next := j.Tried.Add(pauses[min(j.Tries, len(pauses)-1)]); next.After(at) {
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
	case err == nil, statusOf(err)/100 == 4: // by the service itself
		j.pace = careful
	case errors.Is(err, petstore.ErrNotSent) && !transient(err):
		j.stop(err)
	default:
		j.trouble = err
	}
}

// transient reports whether a later request may succeed although one with err was not carried out.
func transient(err error) bool {
	if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok {
		return time.Until(limited.RetryAt) <= 2*time.Minute // the longest wait of the client
	}
	missing, ok := errors.AsType[*net.DNSError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return errors.Is(err, petstore.ErrNotSent) && !untrusted && !(ok && missing.IsNotFound)
}

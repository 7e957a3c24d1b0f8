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

// pace is how many creates may be on their way at a time.
type pace int32

const (
	paused  pace = 0 // until listPets shows that the service responds
	careful pace = 1 // until the outcome of a create is known
	steady  pace = 8 // enough for every plan; more would leave more undecided when the program is killed
)

// health is what an import knows of the service: each create that is sent during an outage is a row
// for a person to decide on.
type health struct {
	pace     pace
	patience time.Duration
	trouble  error                     // why no create was confirmed of late
	since    time.Time                 // when that began
	looks    int                       // at the service since then
	tries    int                       // creates in a row of unknown outcome; those sent together count as two
	tried    time.Time                 // the last of them
	look     atomic.Pointer[time.Time] // when listPets is asked next, while paused
}

// confirmed notes that the outcome of a create is known. That may have been on its way since before
// an outage, and so the pace comes back in steps.
func (h *health) confirmed() {
	h.pace = min(2*max(h.pace, careful), steady)
	h.trouble, h.since, h.looks, h.tries = nil, time.Time{}, 0, 0
}

// hinder notes that a create came to an unknown outcome or was not sent.
func (h *health) hinder(err error, unknown bool) {
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

// pause looks whether the service responds to listPets, when it is time for a careful create. These
// come ever more slowly, since each may be one more undecided row; a restart does not change that.
func (im *importer) pause() {
	if im.tries > 1 && im.tries != im.journal.down.Tries {
		im.record(entry{Event: down, Tries: im.tries})
	}
	at := time.Now().Add(time.Second<<min(im.looks, 5) - time.Second)
	if im.tries > 2 {
		wait := min(time.Second<<min(3*im.tries-9, 12), 100*time.Second)
		if im.tries > 7 {
			wait = 5 * time.Minute
		}
		at = time.Unix(0, max(at.UnixNano(), im.tried.Add(wait).UnixNano()))
	}
	if at.Sub(im.since) > im.patience {
		im.stop(fmt.Errorf("no create was confirmed for %s, and the next is due at %s or with -now: %w",
			im.patience, at.Format(time.TimeOnly), im.trouble))
		return
	}
	im.look.Store(&at)
	defer im.look.Store(nil)
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-im.stopping.Done():
		return
	case <-timer.C:
	}
	once := petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1})
	_, err := im.client.ListPets(im.stopping, petstore.ListPetsParams{Limit: 1}, once)
	switch im.looks++; {
	case err == nil || statusOf(err) != 0 && !transient(err):
		im.pace = careful
	case transient(err):
		im.trouble = err
	default:
		im.stop(err)
	}
}

// transient reports whether err, of which the outcome is known, may be another the next time.
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

package queue

import (
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// keyQueue has the budget of one key and the calls that wait for it.
type keyQueue struct {
	limiter *Limiter
	id      string // Call.KeyID
	budget  quota.Budget
	calls   Queue[*Permit]
	why     quota.Wait // what the first waiter waits for; zero if there is none
	checked int        // budget.Changes when the waiters were last checked
}

func (q *keyQueue) Lock()   { q.limiter.mu.Lock() }
func (q *keyQueue) Unlock() { q.limiter.mu.Unlock() }

// Dispatch implements [Budget].
func (q *keyQueue) Dispatch(now time.Time) {
	q.calls.Serve(now, func(asBackground bool) (*Permit, bool) { return q.admit(now, asBackground) })
	if q.calls.Len() == 0 {
		q.block(now, quota.Wait{})
	}
	q.calls.SetAlarm(now, q.why.Wake)
}

// admit asks the budget for one request. If the budget refuses, admit records what to wait for.
func (q *keyQueue) admit(now time.Time, inBackground bool) (*Permit, bool) {
	slot, why, ok := q.budget.Admit(now, inBackground)
	if !ok {
		q.block(now, why)
		return nil, false
	}
	q.calls.Count(inBackground)
	return &Permit{queue: q, slot: slot}, true
}

// block records what the first waiter waits for. When that is a limit, waiters that cannot wait so
// long are refused immediately.
func (q *keyQueue) block(now time.Time, why quota.Wait) {
	q.why = why
	begins := q.calls.SetLimited(now, !why.Until.IsZero())
	if begins || q.checked != q.budget.Changes() {
		q.checked = q.budget.Changes()
		q.calls.RefuseLate(now)
	}
}

// reason returns what a call waits for.
func (q *keyQueue) reason(inBackground bool) quota.Reason {
	if inBackground && q.why.Reason == quota.Reason(quota.Minute) {
		return ForReserve
	}
	return q.why.Reason
}

func (q *keyQueue) Earliest(now time.Time, before int, inBackground bool) time.Time {
	return q.budget.Earliest(now, before, inBackground)
}

func (q *keyQueue) Refusal(now, at time.Time) *Refusal {
	return &Refusal{
		RetryAt: at, RateLimit: q.budget.RateLimit(), Scope: q.budget.Scope(now, at), InFlight: q.budget.InFlight(),
	}
}

func (q *keyQueue) GiveBack(p *Permit, _ time.Time) {
	p.released = true
	q.budget.GiveBack(p.slot)
}

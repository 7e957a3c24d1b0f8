package petstoreredis

import "time"

// outbox has what a process has to report to the pot.
type outbox struct {
	outcomes []potOutcome
	reopen   bool      // whether Reopen was called
	sendAt   time.Time // when to report or, without Redis, when to try Redis again
}

func (b *outbox) isEmpty() bool { return len(b.outcomes) == 0 && !b.reopen }

func (b *outbox) take(c *command) {
	c.Outcomes, c.Reopen = b.outcomes, b.reopen
	*b = outbox{}
}

// failed is called if a command fails. The outcomes of the command are not sent again, because
// Redis may have counted them. If Redis has not counted them, their permits count as in flight
// until the window is over.
func (b *outbox) failed(c *command, now time.Time) {
	b.reopen = b.reopen || c.Reopen
	b.sendAt = now.Add(tryEvery)
}

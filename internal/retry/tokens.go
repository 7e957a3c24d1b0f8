package retry

import "sync/atomic"

// Tokens limits the retries for a key, so that they do not multiply the load during an outage. A
// retry takes a token, and successes add tokens. A retry after a 429 takes none, since the rate
// limit delays it; neither does a retry of a request that was not sent, since it is no load for the
// service. The zero Tokens is full.
type Tokens struct{ spent atomic.Int64 } // successes that would fill it again

const (
	// tokens is the largest number of tokens: 33 calls can use all their 3 default retries at the
	// beginning of an outage.
	tokens = 100
	// successesPerToken: in the long run there is at most one retry for 10 successes, so that
	// retries add at most a tenth to the load.
	successesPerToken = 10
)

// Take takes a token and reports whether there was one.
func (t *Tokens) Take() bool {
	if t.spent.Add(successesPerToken) <= tokens*successesPerToken {
		return true
	}
	t.spent.Add(-successesPerToken)
	return false
}

// Succeeded notes the success of a call.
func (t *Tokens) Succeeded() {
	if t.spent.Add(-1) < 0 {
		t.spent.Add(1) // it was full
	}
}

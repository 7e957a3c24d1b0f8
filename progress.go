package petstore

import (
	"sync/atomic"
	"time"
)

// progress is how far a call has come. Other goroutines may ask for it through the context.
type progress struct {
	id      uint64
	core    *core
	request request
	ctx     callContext

	attempts   atomic.Int32 // number of attempts begun
	waited     atomic.Int64 // time waited for the rate limit, in ns
	free       atomic.Int64 // time in the current Acquire that WithMaxWait does not count, in ns
	waits      atomic.Bool  // it counts in tracer.waiting
	keyRefused atomic.Bool  // the service refused the key; WithAPIKeyFunc may return another
	keyID      atomic.Pointer[string]
	tickets    tickets
}

func (p *progress) describe() Call {
	c := Call{
		ID:         p.id,
		KeyRefused: p.keyRefused.Load(),
		BaseURL:    p.core.base,
		Operation:  p.request.operation.name,
		Method:     p.request.operation.method,
		Template:   p.core.templates[p.request.operation.index],
		Attempt:    int(p.attempts.Load()),
		Waited:     time.Duration(p.waited.Load()),
		Background: p.request.config.background,
	}
	if id := p.keyID.Load(); id != nil {
		c.KeyID = *id
	}
	return c
}

func (p *progress) queueTickets() *tickets { return &p.tickets }

// startWait calls the WaitStart functions, and returns the function that calls the WaitDone
// functions.
func (p *progress) startWait(w Wait) (done func(free time.Duration)) {
	begun := time.Now()
	if !p.waits.Swap(true) {
		p.core.tracer.waiting.Add(1)
	}
	var ended atomic.Bool
	end := func(free time.Duration) {
		if ended.Swap(true) {
			return
		}
		p.stopWaiting()
		p.free.Add(int64(max(0, free)))
		p.core.tracer.waitDone(p.ctx.Context, WaitDoneInfo{p.describe(), w, time.Since(begun)})
	}
	defer func() {
		if done == nil {
			end(0) // a WaitStart panicked
		}
	}()
	p.core.tracer.waitStart(p.ctx.Context, WaitStartInfo{p.describe(), w})
	return end
}

// stopWaiting ends the wait of the call in LimitInfo.Waiting.
func (p *progress) stopWaiting() {
	if p.waits.Swap(false) {
		p.core.tracer.waiting.Add(-1)
	}
}

// attemptProgress is the progress when an attempt began; another attempt may have begun since.
type attemptProgress struct {
	*progress

	number    int           // within the call, starting at 1
	hadWaited time.Duration // time that the call waited for the rate limit before this attempt
	usedKey   *string       // KeyID; nil while it is not known
}

func (p *attemptProgress) describe() Call {
	c := p.progress.describe()
	c.Attempt, c.Waited = p.number, p.hadWaited
	if p.usedKey != nil {
		c.KeyID = *p.usedKey
	}
	return c
}

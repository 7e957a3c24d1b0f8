package sim

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// result is what one contender came to in one cell.
type result struct {
	done      int // items of the job
	failed    int // items it gave up on
	left      int // items whose callers gave up
	elapsed   time.Duration
	bound     time.Duration // for all items but those left
	perClient []int         // items that each did
	record
}

// fewest is the share of the client that did the fewest items, in its fair share.
func (r result) fewest() float64 {
	if len(r.perClient) == 0 || r.done == 0 {
		return 0
	}
	return float64(slices.Min(r.perClient)*len(r.perClient)) / float64(r.done)
}

// ratio is how much longer it took than the bound.
func (r result) ratio() float64 { return r.elapsed.Seconds() / r.bound.Seconds() }

// worstWindow is the largest number of rejections in a window.
func (r result) worstWindow() int {
	worst := 0
	for _, n := range r.perWindow {
		worst = max(worst, n)
	}
	return worst
}

// newServer returns the service as the cell has it.
func (c cell) newServer() *fake.Server {
	skew := c.condition.skew
	return fake.NewServer(
		fake.WithPlan(c.plan()),
		c.condition.ban(),
		fake.WithBehavior(fake.Behavior{Window: c.window, RetryAfter: c.condition.retryAfter}),
		fake.WithClock(func() time.Time { return time.Now().Add(skew) }),
		fake.WithJournal(0),
	)
}

// run has a contender do the job of a cell. It is to be called in a synctest bubble.
func run(c cell, k contender) result {
	server := c.newServer()
	defer server.Close()
	_ = sleep(context.Background(), c.phase()) // a context that never ends
	begin := server.Now()
	l := newLink(c, server)
	if at := c.condition.planChange; at > 0 {
		change := time.AfterFunc(at, func() { server.SetPlan(server.APIKey(), fake.Enterprise(c.laterPlan(), 0)) })
		defer change.Stop()
	}
	j := job{cell: c, clients: k.clients(c, l, max(1, c.condition.clients))}
	j.perClient = make([]atomic.Int64, len(j.clients))
	j.do()
	elapsed := time.Since(l.start)
	l.strays.Wait()
	r := result{
		done: int(j.done.Load()), failed: int(j.failed.Load()), left: int(j.left.Load()),
		elapsed: elapsed, record: l.record,
	}
	for i := range j.perClient {
		r.perClient = append(r.perClient, int(j.perClient[i].Load()))
	}
	r.bound = c.bound(begin, c.items()-r.left)
	return r
}

// job is a number of requests that goroutines share.
type job struct {
	cell                     cell
	clients                  []client
	next, done, failed, left atomic.Int64
	perClient                []atomic.Int64
}

func (j *job) do() {
	var group sync.WaitGroup
	for g := range j.cell.goroutines {
		n := g % len(j.clients)
		turn := &trip{number: g, seed: j.cell.seed}
		group.Go(func() {
			_ = sleep(context.Background(), turn.offset())
			for i := j.next.Add(1) - 1; i < int64(j.cell.items()); i = j.next.Add(1) - 1 {
				j.item(n, int(i), turn)
			}
		})
	}
	group.Wait()
}

// item does one item of the job and counts how it ended.
func (j *job) item(n, i int, turn *trip) {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), tripKey{}, turn))
	defer cancel()
	if d := j.cell.impatience(i); d > 0 {
		defer time.AfterFunc(d, cancel).Stop()
	}
	err := j.clients[n].list(ctx)
	switch {
	case err == nil:
		j.done.Add(1)
		j.perClient[n].Add(1)
	case ctx.Err() != nil:
		j.left.Add(1)
	default:
		j.failed.Add(1)
	}
}

package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// load is a light load: programs that use one key and together ask for a share of what it allows. Nobody
// has to wait for anything there, so that each wait is the limiter's own.
type load struct {
	cell
	pattern  pattern
	percent  int // of the plan that is asked for
	programs int // each with a limiter of its own
}

// pattern is how a program spreads its calls over time.
type pattern struct {
	name, text string
	batch      int     // calls that begin together
	short      bool    // each batch is a program of its own, whose calls follow each other
	noWait     bool    // WithMaxWait(0)
	impatient  float64 // part of the callers that give up within the latency
	slow       float64 // part of the responses that take slowBy more
}

// slowBy is how much longer a slow response takes in a light load: longer than anybody would wait.
const slowBy = 25 * time.Second

func patterns() []pattern {
	return []pattern{
		{name: "steady", text: "one call at a time, at random", batch: 1},
		{name: "pages", text: "ten calls at once", batch: 10},
		{name: "short", text: "each two calls are a program of their own", batch: 2, short: true},
		{name: "no-wait", text: "one call at a time, `WithMaxWait(0)`", batch: 1, noWait: true},
		{name: "no-wait-pages", text: "ten calls at once, `WithMaxWait(0)`", batch: 10, noWait: true},
		{name: "impatient", text: "one caller in five gives up", batch: 1, impatient: 0.2},
		{name: "slow", text: "one response in fifty takes 25 s more", batch: 1, slow: 0.02},
		{name: "slow-pages", text: "ten calls at once, one response in fifty takes 25 s more", batch: 10, slow: 0.02},
	}
}

// loads returns all of them.
func loads(seed uint64) []load {
	var all []load
	for _, p := range patterns() {
		condition := condition{name: p.name, slow: p.slow, slowBy: slowBy, banAfter: strictBan}
		for _, window := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
			for _, perMinute := range []int{60, 300, 1_000} {
				for _, percent := range []int{20, 50} {
					for _, programs := range []int{1, 2, 8} {
						if p.short && programs == 8 || p.batch*programs > perMinute {
							continue // who starts them makes no difference; and together they may ask for too much
						}
						all = append(all, load{cell{condition, window, perMinute, 1, seed}, p, percent, programs})
					}
				}
			}
		}
	}
	return all
}

func (l load) String() string {
	return fmt.Sprintf("%s_%s_%d_%d%%_%d", l.pattern.name, windowName(l.window), l.perMinute, l.percent, l.programs)
}

// loadTime is how long a load lasts: five windows.
const loadTime = 5 * time.Minute

// added is what the calls of a load came to.
type added struct {
	calls, rejected, bans, failed int
	refused                       int // by the limiter while the window had room
	// waits is what each call took more than the service and the network did, sorted.
	waits []time.Duration
}

func (a *added) quantile(q float64) time.Duration {
	if len(a.waits) == 0 {
		return 0
	}
	return a.waits[min(len(a.waits)-1, int(q*float64(len(a.waits))))]
}

func (a *added) String() string {
	ms := func(q float64) int64 { return a.quantile(q).Milliseconds() }
	return fmt.Sprintf("%d / %d / %d ms, %d rejected, %d bans, %d refused, %d failed, of %d",
		ms(0.5), ms(0.99), ms(1), a.rejected, a.bans, a.refused, a.failed, a.calls)
}

// run has the programs do their calls. It is to be called in a synctest bubble.
func (l load) run(newClient func(load, http.RoundTripper) client) added {
	server := l.newServer()
	defer server.Close()
	_ = sleep(context.Background(), l.phase())
	r := &loadRun{load: l, server: server, link: newLink(l.cell, server), newClient: newClient}
	r.end = r.link.start.Add(loadTime)
	for p := range l.programs {
		r.group.Go(func() { r.program(p) })
	}
	r.group.Wait()
	r.link.strays.Wait()
	r.rejected, r.bans = len(r.link.record.rejected), r.link.record.bans
	slices.Sort(r.waits)
	return r.added
}

type loadRun struct {
	load
	server    *fake.Server
	link      *link
	newClient func(load, http.RoundTripper) client
	end       time.Time
	group     sync.WaitGroup

	mu sync.Mutex
	added
}

// program starts batches of calls at random, on average as often as its part of the load allows.
func (r *loadRun) program(p int) {
	rng := rand.New(rand.NewPCG(r.seed, math.MaxUint64-uint64(p))) //nolint:gosec // any bits will do
	rate := float64(r.perMinute*r.percent) / 100 / float64(r.programs*r.pattern.batch)
	mean := float64(time.Minute) / rate
	shared := r.newClient(r.load, r.link)
	for n := p; ; n += r.programs {
		pause := time.Duration((0.5 + rng.Float64()) * mean)
		_ = sleep(context.Background(), pause)
		if time.Now().After(r.end) {
			return
		}
		if r.pattern.short {
			r.group.Go(func() {
				c := r.newClient(r.load, r.link)
				for i := range r.pattern.batch {
					r.call(c, n*r.pattern.batch+i)
				}
			})
			continue
		}
		for i := range r.pattern.batch {
			r.group.Go(func() { r.call(shared, n*r.pattern.batch+i) })
		}
	}
}

// call makes one call and notes what it cost.
func (r *loadRun) call(c client, n int) {
	trip := &trip{number: n, seed: r.seed}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), tripKey{}, trip))
	defer cancel()
	if rng := r.chance(-1 - n); rng.Float64() < r.pattern.impatient {
		defer time.AfterFunc(time.Duration(1+rng.Int64N(int64(maxLatency))), cancel).Stop()
	}
	_ = sleep(ctx, trip.offset()) // no two calls begin at one instant
	start := time.Now()
	err := c.list(ctx)
	wait := time.Since(start) - trip.took
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if ctx.Err() != nil {
		return
	}
	limited, ok := errors.AsType[*petstore.RateLimitError](err)
	switch {
	case ok && limited.Local && r.server.Usage(r.server.APIKey()).Minute < r.perMinute:
		r.refused++
	case err != nil:
		r.failed++
	default:
		r.waits = append(r.waits, wait)
	}
}

// tripKey is the context's key for a *trip.
type tripKey struct{}

// trip is what the network notes of a call.
type trip struct {
	number int
	seed   uint64
	took   time.Duration // on the network and in the service
}

// offset orders what callers do at one instant, by the seed, so that a run is the same twice: the numbers of
// those at work are less than the prime apart.
func (t *trip) offset() time.Duration {
	const prime = 10_007
	return time.Duration(1 + (uint64(t.number)+t.seed)*7919%prime) //nolint:gosec // below the prime
}

// loadClient is petstore-go as it comes.
func loadClient(l load, via http.RoundTripper) client {
	opts := []petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: via})}
	if l.pattern.noWait {
		opts = append(opts, petstore.WithMaxWait(0))
	}
	p, err := petstore.NewClient(baseURL, fake.DefaultAPIKey, opts...)
	if err != nil {
		panic(err) // the arguments are constants
	}
	return oneShot{p}
}

// oneShot makes each call once.
type oneShot struct{ *petstore.Client }

func (o oneShot) list(ctx context.Context) error {
	_, err := o.ListPets(ctx, petstore.ListPetsParams{Limit: 1})
	return err
}

// loadRetryable is go-retryablehttp with its defaults, for comparison.
func loadRetryable(_ load, via http.RoundTripper) client { return newRetryable(via) }

// promise is the largest added latency that the limiter may have, of 99 calls in a hundred and of all. A program
// whose first calls begin together waits for the first response once, and on 60 a minute a page of ten is a sixth of
// the window, which goes in two or three parts when others use the key or the window slides.
func (l load) promise() (p99, worst time.Duration) {
	p99, worst = 150*time.Millisecond, 250*time.Millisecond
	calls := l.perMinute * l.percent / 100 * int(loadTime/time.Minute)
	if cold := l.programs * (l.pattern.batch - 1); !l.pattern.short && cold*100 > calls {
		p99 = worst
	}
	if l.small() {
		p99, worst = 400*time.Millisecond, 400*time.Millisecond
	}
	if l.small() && l.pattern.slow > 0 { // a cold start behind a slow response waits for a second of silence
		p99, worst = 1300*time.Millisecond, 1300*time.Millisecond
	}
	return p99, worst
}

// median is the same of one call in two.
func (l load) median() time.Duration {
	if l.small() {
		return 100 * time.Millisecond
	}
	return 0
}

// small reports whether the calls that begin together are a sixth of the window.
func (l load) small() bool { return l.pattern.batch >= 10 && l.perMinute == 60 }

// loadRow is what a load came to with petstore-go and with go-retryablehttp.
type loadRow struct {
	load
	ours, theirs added
}

// loadTable returns a line of fields for each pattern and plan, over all windows, shares and numbers of programs,
// the heading first.
func loadTable(rows []loadRow) [][]string {
	lines := [][]string{{"pattern", "plan", "loads", "calls", "petstore-go", "go-retryablehttp"}}
	for _, p := range patterns() {
		for _, perMinute := range []int{60, 300, 1_000} {
			n, calls, ours, theirs := 0, 0, added{}, added{}
			for _, r := range rows {
				if r.pattern.name == p.name && r.perMinute == perMinute {
					n++
					calls += r.ours.calls
					ours.worsen(r.ours)
					theirs.worsen(r.theirs)
				}
			}
			lines = append(lines, []string{
				p.text, fmt.Sprint(perMinute), fmt.Sprint(n), fmt.Sprint(calls), ours.worst(), theirs.worst(),
			})
		}
	}
	return lines
}

// worsen keeps the worst of two: of each quantile, and the sums of the rest.
func (a *added) worsen(b added) {
	if len(a.waits) == 0 {
		a.waits = make([]time.Duration, 3)
	}
	for i, q := range []float64{0.5, 0.99, 1} {
		a.waits[i] = max(a.waits[i], b.quantile(q))
	}
	a.rejected += b.rejected
	a.bans += b.bans
	a.refused += b.refused
	a.failed += b.failed
}

// worst is the entry in the table.
func (a *added) worst() string {
	return fmt.Sprintf("%d / %d / %d ms, %d / %d / %d", a.waits[0].Milliseconds(), a.waits[1].Milliseconds(),
		a.waits[2].Milliseconds(), a.rejected, a.bans, a.refused+a.failed)
}

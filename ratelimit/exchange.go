package ratelimit

import (
	"context"
	"time"
)

// Shared makes the limiters of several processes share one budget for each key, which is kept
// outside them: a pot. exchange sends it what this process reports and asks for, and fills in the
// reply. It is called without a lock on a goroutine of its own, and never twice at once for a
// key. It must return in a bounded time, since requests wait for it.
//
// A permit is asked for only when a request waits for it, and none is held: after a 429 nothing
// is sent here, although the pot has not heard of it. While exchange returns an error, the
// limiter goes on with this process's share of what it knows, as with [Processes], and tries
// again each second in which there are requests.
func Shared(exchange func(ctx context.Context, x *Exchange) error) Option {
	return func(l *Limiter) { l.exchange = exchange }
}

// Exchange is what a limiter reports to a pot and asks of it, and the reply. Most callers need
// none: it is for those who write a pot, for use with [Shared], as petstoreredis does. What
// responses mean is decided by the limiter: the pot stores numbers, compares them, and counts
// permits. Times are durations from now, so that the clocks of the processes do not matter.
type Exchange struct {
	// Key is that of the requests.
	Key string
	// Want is the number of requests that wait, and Background that of those in background.
	Want, Background int
	// Number, Epoch, Opened and Processes are from the last reply; 0 before the first. Alone
	// reports whether an exchange has failed since.
	Number, Epoch, Opened int64
	Processes             int
	Alone                 bool

	// Done is the number of permits of Counted, an Epoch, that need not be counted any longer: a
	// response shows what is left, or nothing was sent. Spent is the number of those whose request
	// may have been counted, which no response shows. If an exchange has failed, the limiter
	// reports both again: a pot that cannot exclude that they have arrived sets them to 0.
	Counted     int64
	Done, Spent int
	// Silent reports whether requests got no response, and none of them did.
	Silent bool
	// Window has the least Remaining of the responses, and Latest is the highest Number of their
	// permits. If Latest is 0, there were none: Window is the last known one.
	Window Window
	Latest int64
	// EndsIn is when Window is over.
	EndsIn time.Duration
	// ClosedIn is when the key opens again; 0 if it is open. Rejected reports whether a 429 has
	// closed it since the last exchange.
	ClosedIn time.Duration
	Rejected bool
	// Scope is the limit that has closed the key or, if it is open, that of Window.
	Scope Scope
	// Reopen asks for one permit although the key is closed.
	Reopen bool

	// Reply is the state of the pot. It is valid if the exchange returned no error.
	Reply struct {
		// Granted and Background are the permits for the two kinds of requests. What is not used
		// is given back at once.
		Granted, Background int
		// Number is that of the last permit of the pot. Numbers only grow: a pot whose number is
		// smaller than a process knows is an old copy.
		Number int64
		// Epoch identifies the window of the pot. Permits count until it is over.
		Epoch int64
		// Opened is the time of the last Reopen, by the clock of the pot.
		Opened int64
		// Known reports whether a response has described the window. Until then one request at a
		// time goes ahead.
		Known bool
		// Window, EndsIn, ClosedIn and Scope are as above, of all processes.
		Window           Window
		EndsIn, ClosedIn time.Duration
		Scope            Scope
		// Left is Remaining without the permits whose outcome has not been reported.
		Left int
		// Processes is the number of processes that share the key.
		Processes int
	}
}

package ratelimit

import (
	"context"
	"time"
)

// Shared makes the limiters of several processes share one budget for each key. That budget is kept
// outside the processes, and is called a pot. exchange sends it what this process reports and asks
// for, and fills in the reply. It is called without a lock on a goroutine of its own, and never
// twice at once for a key. It must return in a bounded time, since requests wait for it.
//
// The limiter asks for a permit only when a request waits for it, and keeps none in store. So after
// a 429 this process sends nothing, even if the pot has not heard of the 429. While exchange
// returns an error, the limiter goes on with this process's share of the last known limit, as with
// [Processes], and tries the pot again each second in which there are requests.
func Shared(exchange func(ctx context.Context, x *Exchange) error) Option {
	return func(l *Limiter) { l.exchange = exchange }
}

// Exchange is what a limiter reports to a pot and asks of it, and the reply. Most callers need
// none: it is for those who write a pot, for use with [Shared], as petstoreredis does. The limiter
// decides what responses mean. The pot only stores numbers, compares them, and counts permits.
// Times are durations from now, so that the clocks of the processes do not matter.
type Exchange struct {
	// Key identifies the API key of the requests.
	Key string
	// Want is how many requests wait that are not background requests; Background is how many
	// background requests wait.
	Want, Background int
	// Number, Epoch, Opened and Processes are from the last reply; 0 before the first. Alone
	// reports whether an exchange has failed since.
	Number, Epoch, Opened int64
	Processes             int
	Alone                 bool

	// Done and Spent are about the permits of one Epoch, which is Counted. Done is the number of those
	// that the pot need not count any longer, because a response has shown what is left, or because
	// nothing was sent. Spent is the number of those whose request the server may have counted
	// although no response shows it. After a failed exchange, the limiter reports both once more. A
	// pot that may have received them the first time sets them to 0.
	Counted     int64
	Done, Spent int
	// Silent reports whether requests were sent and none of them got a response.
	Silent bool
	// Window has the least Remaining of the responses, and Latest is the highest Number of their
	// permits. If Latest is 0, there were no responses, and Window is the last known one.
	Window Window
	Latest int64
	// EndsIn is when Window is over.
	EndsIn time.Duration
	// ClosedIn is when the key opens again; 0 if it is open. Rejected reports whether a 429 has
	// closed it since the last exchange.
	ClosedIn time.Duration
	Rejected bool
	// Reason is the limit that has closed the key or, if the key is open, the limit that Window belongs
	// to.
	Reason Reason
	// Reopen asks for one permit although the key is closed.
	Reopen bool

	// Reply is the state of the pot. It is valid if the exchange returned no error.
	Reply struct {
		// Granted and Background are the permits for the two kinds of requests. The limiter gives back at
		// once what it does not use.
		Granted, Background int
		// Number is the number of the last permit that the pot has given. Numbers only grow: a pot whose
		// number is smaller than a process knows is an old copy.
		Number int64
		// Epoch identifies the window of the pot. Permits count until it is over.
		Epoch int64
		// Opened is the time of the last Reopen, by the clock of the pot.
		Opened int64
		// Known reports whether a response has described the window. Until then one request at a
		// time goes ahead.
		Known bool
		// Window, EndsIn, ClosedIn and Reason mean the same as above, for all processes together.
		Window           Window
		EndsIn, ClosedIn time.Duration
		Reason           Reason
		// Left is the Remaining of Window minus the permits whose outcome has not been reported.
		Left int
		// Processes is the number of processes that share the key.
		Processes int
	}
}

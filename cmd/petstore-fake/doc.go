// Petstore-fake is the Pet Store Service in memory as a program: the package
// github.com/petstore/petstore-go/fake for teams whose tests are not in Go.
//
//	petstore-fake                      # http://127.0.0.1:4010/v1, the key is fake-api-key
//	petstore-fake -plan free -minute 2s -seed pets.json -log text
//
// It prints its base URL, its keys, its routes and a curl line, and serves until SIGTERM or an
// interrupt. It keeps nothing on disk. The documentation of package fake lists what it does where
// the service document leaves a choice. docs/petstore-fake.md has the admin routes, each with a
// command for curl, and how to run the program in containers and CI.
//
// # Flags
//
// Each flag has an environment variable: PETSTORE_FAKE_ADDR for -addr, PETSTORE_FAKE_RANDOM_SEED
// for -random-seed. A flag wins over its variable, and an empty variable counts as none.
//
//	-addr HOST:PORT        where to listen: 127.0.0.1:4010. With port 0 the system picks a free port;
//	                       standard output is then the port's number and nothing else.
//	-public[=NAMES]        allows an address that is not loopback, so that everybody who reaches it can
//	                       steer the fake. NAMES, separated by commas, are host names by which the
//	                       admin routes may be called.
//	-key KEY[=PLAN]        an API key in place of fake-api-key, or several keys separated by spaces; may
//	                       be given several times
//	-plan PLAN             of the keys without one: free, pro, business (the default) or
//	                       enterprise:M,D with the requests per minute and per day, 0 for unlimited
//	-minute DURATION       length of the minute of the rate limit, from 1s to 1h in whole seconds, so
//	                       that a test in real time meets a limit and gets past it
//	-ban AFTER,DURATION    bans a key for so long after so many requests that follow a 429: 5,10m
//	-clock TIME            the service's time at the start, such as 2030-12-04T23:59:00Z
//	-seed FILE             pets to begin with: a JSON array of NewPet objects
//	-fault SPEC            a failure on demand; may be given several times, see below
//	-variant LIST          behaviours where the service document leaves a choice, see below
//	-random-seed NUMBER    repeats what is random: the chances of faults, shuffled lists
//	-strict                exits with status 1 if a client did what a well-behaved client does not do
//	                       since the start or the last reset, and lists it
//	-log FORMAT            writes a line for each request of the service to stderr: text or json. It
//	                       shows no query, no path without a valid key, and no key of 6 characters
//	                       or more.
//	-healthcheck           asks the program with the same -addr whether it serves, and exits with status
//	                       0 or 1
//	-version, -help        print and exit
//
// # Faults
//
// A fault is a list of fields with commas between them; several faults are separated by semicolons.
//
//	-fault status=503,operation=createPet,times=2,after-commit
//	-fault 'status=429,retry-after="Fri, 31 Dec 2032 23:59:59 GMT"; wire=reset,times=forever'
//
// The fields are those of fake.Fault: operation, key, skip, times (a number or forever), for (a
// duration), chance, delay, after-commit, status, code, message, retry-after, header ("Name:
// value", or a name alone to take that header away; may be repeated), body, drip (how long the body
// takes), and wire (reset, close, truncate, garbage, stall, login-page or refuse). A value with a comma or semicolon stands in double
// quotes, as a Go string.
//
// # Behaviours
//
// The value of -variant is a name of fake.Variants, or a list of behaviours with commas between
// them, such as retry-after=date,window=sliding. The first choice of each is the default.
//
//	default-status         none, available, pending, sold
//	retry-after            seconds, date, absent
//	limit-body             error, empty, html
//	order                  ascending, descending, shuffled
//	invalid-limit          reject, ignore, clamp
//	invalid-status         reject, ignore, clamp
//	window                 fixed, aligned, sliding
//	ban-reset              window, ban, absent
//	removal                off, on
//	deprecation-headers    off, on
//
// # Exit status
//
// 0 after a signal, at most 5 seconds later even if requests are open; 1 if the address cannot be
// listened on, if -strict found violations, or if -healthcheck got no response; 2 if a flag or a
// variable is wrong.
package main

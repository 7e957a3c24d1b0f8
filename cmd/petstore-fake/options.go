package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// behaviors are the choices of -variant, as fake.ParseBehavior reads them.
const behaviors = `  default-status         none, available, pending, sold
  retry-after            seconds, date, absent
  limit-body             error, empty, html
  order                  ascending, descending, shuffled
  invalid-limit          reject, ignore, clamp
  invalid-status         reject, ignore, clamp
  window                 fixed, aligned, sliding
  ban-reset              window, ban, absent
  removal                off, on
  deprecation-headers    off, on
`

// option is a flag with its environment variable.
type option struct {
	name  string
	arg   string // what the help calls its value; in brackets if it may be left out
	about string
}

// options returns the options in the order in which the help shows them.
func options() []option {
	return []option{
		{"addr", "HOST:PORT", "where to listen; " + spec.DefaultAddr + ", port 0 is any free port"},
		{"public", "[NAMES]", "allow an address that is not loopback; NAMES are hosts for /_fake/"},
		{"tls", "FILE", "serve https with a certificate made at the start; FILE gets that of its CA"},
		{"cors", "ORIGINS", "let web pages of these origins call the service, * for all"},
		{"key", "KEY[=PLAN]", "an API key in place of fake-api-key; repeatable"},
		{"plan", "PLAN", "plan of other keys: free, pro, business (default) or enterprise:M,D"},
		{"minute", "DURATION", "length of the minute of the rate limit, such as 2s"},
		{"ban", "AFTER,DURATION", "ban a key after so many requests that follow a 429: 5,10m"},
		{"clock", "TIME", "the service's time at the start, such as 2030-12-04T23:59:00Z"},
		{"seed", "FILE", "pets to begin with: a JSON array of NewPet objects"},
		{"latency", "DURATION", "hold every response of the service back"},
		{"fault", "SPEC", "a failure on demand: status=503,operation=createPet,times=2; repeatable"},
		{"variant", "LIST", "behaviours where the document is silent, see below"},
		{"observed", "FILE", "behave like the service that package conformance observed"},
		{"random-seed", "NUMBER", "repeat the random choices: chances of faults, shuffled lists"},
		{"strict", "", "exit with status 1 if a client did what well-behaved clients do not do"},
		{"log", "FORMAT", "write requests to stderr: text or json"},
		{"healthcheck", "", "ask the program with the same -addr and -tls whether it serves"},
		{"version", "", "print the version and exit"},
	}
}

// setters returns what takes the values of the options, by their names.
func (s *settings) setters() map[string]func(string) error {
	return map[string]func(string) error{
		"addr":        bind(&s.addr, spec.ParseAddress),
		"public":      s.setPublic,
		"tls":         bind(&s.tls, parseText),
		"cors":        bind(&s.origins, parseOrigins),
		"key":         s.addKeys,
		"plan":        bind(&s.plan, spec.ParsePlan),
		"minute":      bind(&s.minute, parseMinute),
		"ban":         bind(&s.ban, parseBan),
		"clock":       bind(&s.clock, spec.ParseTime),
		"seed":        bind(&s.pets, readSeed),
		"latency":     bind(&s.latency, spec.ParseDuration),
		"fault":       s.addFaults,
		"variant":     bind(&s.behavior, spec.ParseBehavior),
		"observed":    bind(&s.observed, parseObserved),
		"random-seed": bind(&s.seed, parseSeed),
		"strict":      bind(&s.strict, parseBool),
		"log":         bind(&s.log, parseLog),
		"healthcheck": bind(&s.health, parseBool),
		"version":     bind(&s.version, parseBool),
	}
}

// bind returns the setter of an option whose value goes through parse into one field.
func bind[T any](at *T, parse func(string) (T, error)) func(string) error {
	return func(v string) error {
		value, err := parse(v)
		if err == nil {
			*at = value
		}
		return err
	}
}

// alone reports whether the flag may stand without a value.
func (o option) alone() bool { return o.arg == "" || strings.HasPrefix(o.arg, "[") }

// forHealth reports whether the flag matters to -healthcheck, which runs every few seconds and must
// not read the files of the others.
func (o option) forHealth() bool {
	return slices.Contains([]string{"healthcheck", "addr", "public", "tls"}, o.name)
}

func (o option) env() string {
	return "PETSTORE_FAKE_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// usage returns the option as the help shows it.
func (o option) usage() string {
	switch {
	case o.arg == "":
		return "-" + o.name
	case strings.HasPrefix(o.arg, "["):
		return "-" + o.name + "[=" + o.arg[1:]
	}
	return "-" + o.name + " " + o.arg
}

// printHelp writes what -help shows.
func printHelp(w io.Writer) {
	fmt.Fprintf(w, "%s is the Pet Store Service in memory.\n\nFlags; each also by the environment, "+
		"such as %s, where the flag wins:\n\n", program, option{name: "addr"}.env())
	for _, o := range options() {
		fmt.Fprintf(w, "  %-22s %s\n", o.usage(), o.about)
	}
	fmt.Fprintf(w, "\nFields of -fault: %s.\nTwo faults are separated by a semicolon.\n",
		strings.Join(spec.FaultFields(), ", "))
	fmt.Fprint(w, "\nBehaviours of -variant, the default first:\n\n"+behaviors)
	fmt.Fprint(w, "\nWith port 0, standard output is the port alone. A browser gets the request page at /_fake/,\n"+
		"a program the list of the admin routes.\n")
}

package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/adminapi"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// defaultAddr is the address of a program without -addr.
const defaultAddr = "127.0.0.1:4010"

// settings are the values of all options.
type settings struct {
	addr    address
	keys    []spec.Key // the first is the default key
	plan    fake.Plan  // of the keys that have none
	pets    []petstore.NewPet
	faults  []fake.Fault
	others  []fake.Option // of the fake
	strict  bool
	log     string
	public  bool
	names   []string // hosts that admin requests may name, besides loopback
	health  bool
	version bool
}

// option is a flag with its environment variable. doc.go describes each.
type option struct {
	name  string
	set   func(value string) error
	alone bool // reports whether the flag may stand without a value, which is then "true"
}

// options returns all options; their values are written to s.
func (s *settings) options() []option {
	other := func(o fake.Option) { s.others = append(s.others, o) }
	return []option{
		{"addr", reading(parseAddress, func(a address) { s.addr = a }), false},
		{"public", s.setPublic, true},
		{"key", reading(spec.ParseKeys, func(keys []spec.Key) { s.keys = append(s.keys, keys...) }), false},
		{"plan", reading(spec.ParseText[fake.Plan], func(p fake.Plan) { s.plan = p }), false},
		{"minute", reading(parseMinute, func(d time.Duration) { other(fake.WithMinute(d)) }), false},
		{"ban", reading(parseBan, other), false},
		{"clock", reading(spec.ParseTime, func(t time.Time) { other(clockFrom(t)) }), false},
		{"seed", reading(readSeed, func(pets []petstore.NewPet) { s.pets = pets }), false},
		{"fault", reading(spec.ParseFaults, func(f []fake.Fault) { s.faults = append(s.faults, f...) }), false},
		{"variant", reading(spec.ParseText[fake.Behavior], func(b fake.Behavior) { other(fake.WithBehavior(b)) }), false},
		{"random-seed", reading(parseNumber, func(n uint64) { other(fake.WithSeed(n)) }), false},
		{"strict", reading(spec.ParseBool, func(on bool) { s.strict = on }), true},
		{"log", reading(parseLog, func(format string) { s.log = format }), false},
		{"healthcheck", reading(spec.ParseBool, func(on bool) { s.health = on }), true},
		{"version", reading(spec.ParseBool, func(on bool) { s.version = on }), true},
	}
}

// reading returns the setter of an option whose value parse reads and use takes.
func reading[T any](parse func(string) (T, error), use func(T)) func(string) error {
	return func(text string) error {
		value, err := parse(text)
		if err == nil {
			use(value)
		}
		return err
	}
}

func (o option) env() string {
	return "PETSTORE_FAKE_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// readSettings reads the flags, and the environment variables of options without a flag. No error
// repeats a key.
func readSettings(args []string, getenv func(string) string) (s settings, err error) {
	s.addr, _ = parseAddress(defaultAddr)
	s.plan = fake.PlanBusiness
	flags, options := flag.NewFlagSet(program, flag.ContinueOnError), s.options()
	flags.SetOutput(io.Discard)
	set := func(o option, source, value string) {
		if wrong := o.set(value); wrong != nil && err == nil {
			err = fmt.Errorf("%s: %w", source, wrong)
		}
	}
	given := make(map[string]bool)
	for _, o := range options {
		add := flags.Func
		if o.alone {
			add = flags.BoolFunc
		}
		add(o.name, "", func(value string) error {
			given[o.name] = true
			set(o, "-"+o.name, value)
			return nil // package flag would repeat the value, which may be a key
		})
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	}
	for _, o := range options {
		// A health check runs every few seconds, and must not read the file of -seed.
		if value := getenv(o.env()); value != "" && !given[o.name] && (!s.health || o.name == "addr" || o.name == "public") {
			set(o, o.env(), value)
		}
	}
	return s, cmp.Or(err, s.complete())
}

// complete checks and fills in what depends on several options.
func (s *settings) complete() error {
	switch {
	case !s.public && !adminapi.IsLoopback(s.addr.host):
		return fmt.Errorf("%s is not a loopback address: everybody who reaches it can use the fake and"+
			" its admin routes; add -public if that is meant", s.addr)
	case s.health && s.addr.port == 0:
		return errors.New("-healthcheck needs the port that the program serves on: give it by -addr")
	}
	if s.addr.host != "" {
		s.names = append(s.names, strings.ToLower(s.addr.host))
	}
	if len(s.keys) == 0 {
		s.keys = []spec.Key{{Key: fake.DefaultAPIKey}}
	}
	for i, k := range s.keys {
		if k.Plan == nil {
			s.keys[i].Plan = &s.plan
		}
	}
	return nil
}

// address is where the program listens.
type address struct {
	host string // an IP address or a name; "" is every address of the machine
	port uint16 // 0 for any free port
}

// parseAddress reads HOST:PORT. The port must be a number, since systems differ in the names of
// ports.
func parseAddress(text string) (a address, err error) {
	host, port, err := net.SplitHostPort(text)
	n, err2 := strconv.ParseUint(port, 10, 16)
	_, err3 := netip.ParseAddr(host)
	if err != nil || err2 != nil || host != "" && err3 != nil && !hostName.MatchString(host) {
		return a, fmt.Errorf("%q is not HOST:PORT, such as %s: a host name or an IP address, and a number"+
			" up to 65535", spec.Clip(text), defaultAddr)
	}
	return address{host, uint16(n)}, nil
}

// String returns HOST:PORT.
func (a address) String() string { return net.JoinHostPort(a.host, strconv.Itoa(int(a.port))) }

var hostName = regexp.MustCompile(`^[\w.-]+$`)

// setPublic sets the value of -public: true, false, or the host names of the program, which is then
// public.
func (s *settings) setPublic(v string) error {
	if on, err := strconv.ParseBool(v); err == nil {
		s.public, s.names = on, nil
		return nil
	}
	names := strings.Split(strings.ToLower(v), ",")
	for _, name := range names {
		if !hostName.MatchString(name) {
			return fmt.Errorf("%q is not a host name; give names without scheme and port", spec.Clip(name))
		}
	}
	s.public, s.names = true, slices.Clip(names)
	return nil
}

// clockFrom returns the option of a clock that begins at t.
func clockFrom(t time.Time) fake.Option {
	ahead := time.Until(t)
	return fake.WithClock(func() time.Time { return time.Now().Add(ahead) })
}

var parseMinute = spec.Reader(time.ParseDuration, func(d time.Duration) bool {
	return d%time.Second == 0 && d > 0 && d <= time.Hour
}, "a whole number of seconds from 1s to 1h")

var parseNumber = spec.Reader(func(v string) (uint64, error) { return strconv.ParseUint(v, 10, 64) },
	nil, "a whole number from 0 to 18446744073709551615")

func parseBan(v string) (fake.Option, error) {
	after, duration, _ := strings.Cut(v, ",")
	n, err := strconv.Atoi(strings.TrimSpace(after))
	d, err2 := time.ParseDuration(strings.TrimSpace(duration))
	if err != nil || err2 != nil || n < 1 || d <= 0 {
		return nil, fmt.Errorf("%q is not AFTER,DURATION, such as 5,10m: a number of requests, at least 1,"+
			" and a duration above 0", spec.Clip(v))
	}
	return fake.WithBan(n, d), nil
}

var parseLog = spec.Reader(func(v string) (string, error) { return v, nil },
	func(v string) bool { return v == "text" || v == "json" }, "text or json")

// readSeed reads the pets of a file. Its errors begin with the file.
func readSeed(name string) ([]petstore.NewPet, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pets, err := spec.ParsePets(string(text))
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return pets, err
}

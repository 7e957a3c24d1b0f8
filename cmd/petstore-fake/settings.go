package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/adminapi"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// defaultAddr is the address of a program without -addr.
const defaultAddr = "127.0.0.1:4010"

// settings are the values of all options.
type settings struct {
	host    string        // where to listen: an IP address or a name; "" is every address of the machine
	port    int           // 0 for any free port
	keys    []spec.Key    // the first is the default key
	plan    fake.Plan     // of the keys that have none
	fake    []fake.Option // the other options of the fake
	strict  bool
	log     string
	public  bool
	names   []string // hosts that admin requests may name, besides loopback
	health  bool
	version bool
}

// option is a flag with its environment variable. help.txt describes each.
type option struct {
	name  string
	set   func(value string) error
	alone bool // reports whether the flag may stand without a value, which is then "true"
}

// options returns all options; their values are written to s.
func (s *settings) options() []option {
	add := func(o fake.Option) { s.fake = append(s.fake, o) }
	return []option{
		{"addr", s.setAddr, false},
		{"public", s.setPublic, true},
		{"key", reading(spec.ParseKeys, func(keys []spec.Key) { s.keys = append(s.keys, keys...) }), false},
		{"plan", reading(spec.ParseText[fake.Plan], func(p fake.Plan) { s.plan = p }), false},
		{"minute", reading(parseMinute, func(d time.Duration) { add(fake.WithMinute(d)) }), false},
		{"ban", reading(parseBan, add), false},
		{"clock", reading(spec.ParseTime, func(t time.Time) { add(clockFrom(t)) }), false},
		{"seed", reading(readSeed, add), false},
		{"fault", reading(spec.ParseFaults, func(f []fake.Fault) { add(fake.WithFaults(f...)) }), false},
		{"variant", reading(spec.ParseText[fake.Behavior], func(b fake.Behavior) { add(fake.WithBehavior(b)) }), false},
		{"random-seed", reading(parseNumber, func(n uint64) { add(fake.WithSeed(n)) }), false},
		{"strict", reading(spec.ParseBool, func(on bool) { s.strict = on }), true},
		{"log", reading(parseLog, func(format string) { s.log = format }), false},
		{"healthcheck", reading(spec.ParseBool, func(on bool) { s.health = on }), true},
		{"version", reading(spec.ParseBool, func(on bool) { s.version = on }), true},
	}
}

// reading returns the setter of an option. The setter reads the value with parse and passes it to
// use.
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

// readSettings reads the flags and, for the options whose flags are not given, the environment
// variables. No error repeats a key.
func readSettings(args []string, getenv func(string) string) (s settings, err error) {
	s.plan, err = fake.PlanBusiness, s.setAddr(defaultAddr)
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
	case !s.public && !adminapi.IsLoopback(s.host):
		return fmt.Errorf("%s is not a loopback address: everybody who reaches it can use the fake and"+
			" its admin routes; add -public if that is meant", s.addr())
	case s.health && s.port == 0:
		return errors.New("-healthcheck needs the port that the program serves on: give it by -addr")
	}
	if s.host != "" {
		s.names = append(s.names, strings.ToLower(s.host))
	}
	if len(s.keys) == 0 {
		s.keys = []spec.Key{{Key: fake.DefaultAPIKey}}
	}
	for i := range s.keys {
		s.keys[i].Plan = cmp.Or(s.keys[i].Plan, &s.plan)
	}
	return nil
}

var hostName = regexp.MustCompile(`^[\w.-]+$`)

// setAddr sets HOST:PORT. The port must be a number, since systems differ in the names of ports.
func (s *settings) setAddr(text string) error {
	host, port, err := net.SplitHostPort(text)
	n, err2 := strconv.ParseUint(port, 10, 16)
	if err != nil || err2 != nil || host != "" && !strings.Contains(host, ":") && !hostName.MatchString(host) {
		return fmt.Errorf("%q is not HOST:PORT, such as %s: a host name or an IP address, and a number"+
			" up to 65535", spec.Clip(text), defaultAddr)
	}
	s.host, s.port = host, int(n)
	return nil
}

func (s *settings) addr() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// setPublic sets the value of -public: true, false, or the host names of the program, which is then
// public.
func (s *settings) setPublic(v string) error {
	if on, err := strconv.ParseBool(v); err == nil {
		s.public = on
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

var (
	parseMinute = spec.Reader(time.ParseDuration, func(d time.Duration) bool {
		return d%time.Second == 0 && d > 0 && d <= time.Hour
	}, "a whole number of seconds from 1s to 1h")

	parseNumber = spec.Reader(func(v string) (uint64, error) { return strconv.ParseUint(v, 10, 64) },
		nil, "a whole number from 0 to 18446744073709551615")

	parseBan = spec.Reader(func(v string) (fake.Option, error) {
		after, duration, _ := strings.Cut(v, ",")
		n, err := strconv.Atoi(strings.TrimSpace(after))
		d, err2 := time.ParseDuration(strings.TrimSpace(duration))
		if err != nil || err2 != nil || n < 1 || d <= 0 {
			return nil, errors.New("no ban")
		}
		return fake.WithBan(n, d), nil
	}, nil, "AFTER,DURATION, such as 5,10m: a number of requests, at least 1, and a duration above 0")

	parseLog = spec.Reader(func(v string) (string, error) { return v, nil },
		func(v string) bool { return v == "text" || v == "json" }, "text or json")
)

// readSeed reads the pets of a file. Its errors begin with the file.
func readSeed(name string) (fake.Option, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pets, err := spec.ParsePets(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return fake.WithPets(pets...), nil
}

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

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admin"
	"github.com/petstore/petstore-go/fake"
)

// defaultAddr is the address of a program without -addr.
const defaultAddr = "127.0.0.1:4010"

// settings are the values of all options.
type settings struct {
	host     string      // where to listen: an IP address or a name; "" is every address of the machine
	port     int         // 0 for any free port
	keys     []admin.Key // the first is the default key
	plan     fake.Plan   // of the keys that have none
	minute   time.Duration
	ban      ban
	clock    time.Time // of the service at the start; zero for the machine's
	pets     []admin.Pet
	faults   []fake.Fault
	behavior fake.Behavior
	random   uint64
	strict   bool
	log      string
	public   bool
	names    []string // hosts that admin requests may name, besides loopback
	health   bool
	version  bool
}

// ban is the value of -ban: a key is banned for so long after so many requests that follow a 429.
type ban struct {
	After int           `json:"after"`
	For   time.Duration `json:"for"`
}

// option is a flag with its environment variable. help.txt describes each.
type option struct {
	name  string
	set   func(text string) error
	alone bool // reports whether the flag may stand without a value, which is then "true"
}

// options returns all options; their values are written to s.
func (s *settings) options() []option {
	seed := func(file string) error { return list(&s.pets)("@" + strings.TrimPrefix(file, "@")) }
	return []option{
		{"addr", s.setAddr, false},
		{"public", s.setPublic, true},
		{"key", list(&s.keys), false},
		{"plan", value(&s.plan), false},
		{"minute", value(&s.minute), false},
		{"ban", value(&s.ban), false},
		{"clock", value(&s.clock), false},
		{"seed", seed, false},
		{"fault", list(&s.faults), false},
		{"variant", value(&s.behavior), false},
		{"random-seed", value(&s.random), false},
		{"strict", value(&s.strict), true},
		{"log", value(&s.log), false},
		{"healthcheck", value(&s.health), true},
		{"version", value(&s.version), true},
	}
}

// value returns the setter of an option that has one value.
func value[T any](to *T) func(string) error {
	return func(text string) (err error) {
		if text, err = content(text); err == nil {
			*to, err = admin.Read[T](text)
		}
		return err
	}
}

// list returns the setter of an option that may be given several times.
func list[T any](to *[]T) func(string) error {
	return func(text string) error {
		text, err := content(text)
		if err != nil {
			return err
		}
		more, err := admin.ReadList[T](text)
		*to = append(*to, more...)
		return err
	}
}

// content returns the content of a file for @FILE, and any other text as it is.
func content(text string) (string, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return text, nil
	}
	all, err := os.ReadFile(name)
	return string(all), err
}

func (o option) env() string {
	return "PETSTORE_FAKE_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// readSettings reads the flags and, for the options whose flags are not given, the environment
// variables.
func readSettings(args []string, getenv func(string) string) (s settings, err error) {
	s.plan, s.minute, err = fake.PlanBusiness, time.Minute, s.setAddr(defaultAddr)
	flags, options := flag.NewFlagSet(program, flag.ContinueOnError), s.options()
	flags.SetOutput(io.Discard)
	set := func(o option, source, text string) {
		if wrong := o.set(text); wrong != nil && err == nil {
			err = fmt.Errorf("%s: %w", source, wrong)
		}
	}
	given := make(map[string]bool)
	for _, o := range options {
		add := flags.Func
		if o.alone {
			add = flags.BoolFunc
		}
		add(o.name, "", func(text string) error {
			given[o.name] = true
			set(o, "-"+o.name, text)
			return nil // package flag would repeat the value, which may be long
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
		if text := getenv(o.env()); text != "" && !given[o.name] && (!s.health || o.name == "addr" || o.name == "public") {
			set(o, o.env(), text)
		}
	}
	return s, cmp.Or(err, s.check())
}

// check returns an error for a value that has the right form and makes no sense. It fills in what
// depends on several options.
func (s *settings) check() error {
	year := s.clock.UTC().Year()
	switch {
	case s.minute%time.Second != 0 || s.minute <= 0 || s.minute > time.Hour:
		return errors.New("-minute must be a whole number of seconds from 1s to 1h")
	case s.ban != (ban{}) && (s.ban.After < 1 || s.ban.For <= 0):
		return errors.New("-ban needs a number of requests and a duration, both above 0: after=5,for=10m")
	case !s.clock.IsZero() && (year < 1970 || year > 2291):
		return errors.New("-clock must be a time from 1970 to 2291, such as 2030-12-04T23:59:00Z")
	case s.log != "" && s.log != "text" && s.log != "json":
		return errors.New("-log must be text or json")
	case !s.public && !admin.IsLoopback(s.host):
		return fmt.Errorf("%s is not a loopback address: everybody who reaches it can use the fake and"+
			" its admin routes; add -public if that is meant", s.addr())
	case s.health && s.port == 0:
		return errors.New("-healthcheck needs the port that the program serves on: give it by -addr")
	}
	if s.host != "" {
		s.names = append(s.names, strings.ToLower(s.host))
	}
	if len(s.keys) == 0 {
		s.keys = []admin.Key{{Key: fake.DefaultAPIKey}}
	}
	for i := range s.keys {
		s.keys[i].Plan = cmp.Or(s.keys[i].Plan, &s.plan)
	}
	return nil
}

// fakeOptions returns the settings as options of the fake. All but the clock are options, so that a
// reset of the fake puts them back.
func (s *settings) fakeOptions() []fake.Option {
	opts := []fake.Option{
		fake.WithAPIKey(s.keys[0].Key), fake.WithPlan(*s.keys[0].Plan), fake.WithMinute(s.minute),
		fake.WithBan(s.ban.After, s.ban.For), fake.WithFaults(s.faults...), fake.WithBehavior(s.behavior),
		fake.WithSeed(s.random),
	}
	for _, p := range s.pets {
		opts = append(opts, fake.WithPets(petstore.NewPet(p)))
	}
	for _, k := range s.keys[1:] {
		opts = append(opts, fake.WithKey(k.Key, *k.Plan))
	}
	if s.strict {
		opts = append(opts, fake.WithStrict())
	}
	return opts
}

var hostName = regexp.MustCompile(`^[\w.-]+$`)

// setAddr sets HOST:PORT. The port must be a number, since systems differ in the names of ports.
func (s *settings) setAddr(text string) error {
	host, port, err := net.SplitHostPort(text)
	n, err2 := strconv.ParseUint(port, 10, 16)
	if err != nil || err2 != nil || host != "" && !strings.Contains(host, ":") && !hostName.MatchString(host) {
		return fmt.Errorf("%q is not HOST:PORT, such as %s: a host name or an IP address, and a number up to 65535",
			text, defaultAddr)
	}
	s.host, s.port = host, int(n)
	return nil
}

func (s *settings) addr() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// setPublic sets the value of -public: true, false, or the host names of the program, which is then
// public.
func (s *settings) setPublic(text string) error {
	if on, err := strconv.ParseBool(text); err == nil {
		s.public = on
		return nil
	}
	names := strings.Split(strings.ToLower(text), ",")
	for _, name := range names {
		if !hostName.MatchString(name) {
			return fmt.Errorf("%q is not a host name; give names without scheme and port", name)
		}
	}
	s.public, s.names = true, slices.Clip(names)
	return nil
}

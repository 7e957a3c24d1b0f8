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
	pets     []petstore.NewPet
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
	return []option{
		{"addr", s.setAddr, false},
		{"public", s.setPublic, true},
		{"key", into(appending(&s.keys), admin.ReadList), false},
		{"plan", into(setting(&s.plan), admin.Read), false},
		{"minute", into(setting(&s.minute), admin.Read), false},
		{"ban", into(setting(&s.ban), admin.Read), false},
		{"clock", into(setting(&s.clock), admin.Read), false},
		{"seed", func(file string) error { return into(appending(&s.pets), admin.ReadList)("@" + file) }, false},
		{"fault", into(appending(&s.faults), admin.ReadList), false},
		{"variant", into(setting(&s.behavior), admin.Read), false},
		{"random-seed", into(setting(&s.random), admin.Read), false},
		{"strict", into(setting(&s.strict), admin.Read), true},
		{"log", into(setting(&s.log), admin.Read), false},
		{"healthcheck", into(setting(&s.health), admin.Read), true},
		{"version", into(setting(&s.version), admin.Read), true},
	}
}

func setting[T any](to *T) func(T)       { return func(value T) { *to = value } }
func appending[T any](to *[]T) func([]T) { return func(more []T) { *to = append(*to, more...) } }

// into returns the setter of an option that reads a value from a text, or from the file of @FILE.
func into[T any](use func(T), read func(string) (T, error)) func(string) error {
	return func(text string) error {
		if name, isFile := strings.CutPrefix(text, "@"); isFile {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text = string(content)
		}
		value, err := read(text)
		use(value) // after an error it is not used
		return err
	}
}

func (o option) env() string {
	return "PETSTORE_FAKE_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// forHealth are the options that a health check reads from the environment. It runs every few seconds,
// and must not read the file of -seed.
var forHealth = []string{"addr", "public"}

// readSettings reads the flags and, for the options whose flags are not given, the environment
// variables.
func readSettings(args []string, getenv func(string) string) (s settings, err error) {
	s.plan, s.minute, err = fake.PlanBusiness, time.Minute, s.setAddr(defaultAddr)
	flags, options := flag.NewFlagSet(program, flag.ContinueOnError), s.options()
	flags.SetOutput(io.Discard)
	set := func(o option, source, text string) {
		if wrong := o.set(text); wrong != nil {
			err = cmp.Or(err, fmt.Errorf("%s: %w", source, wrong))
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
		if text := getenv(o.env()); text != "" && !given[o.name] && (!s.health || slices.Contains(forHealth, o.name)) {
			set(o, o.env(), text)
		}
	}
	if len(s.keys) == 0 {
		s.keys = []admin.Key{{Key: fake.DefaultAPIKey}}
	}
	return s, cmp.Or(err, s.check())
}

// check returns an error for a value that has the right form and makes no sense.
func (s *settings) check() error {
	year := s.clock.UTC().Year()
	switch {
	case s.minute%time.Second != 0 || s.minute <= 0 || s.minute > time.Hour:
		return errors.New("-minute must be a whole number of seconds from 1s to 1h")
	case s.ban != (ban{}) && (s.ban.After < 1 || s.ban.For <= 0):
		return errors.New("-ban needs a number of requests and a duration, both above 0: after=5,for=10m")
	case !s.clock.IsZero() && (year < 1970 || year > 2291):
		return errors.New("-clock must be a time from 1970 to 2291, such as 2030-12-04T23:59:00Z")
	case !slices.Contains([]string{"", "text", "json"}, s.log):
		return errors.New("-log must be text or json")
	}
	return s.checkAddr()
}

func (s *settings) checkAddr() error {
	switch {
	case !s.public && !admin.IsLoopback(s.host):
		return fmt.Errorf("%s is not a loopback address: everybody who reaches it can use the fake and"+
			" its admin routes; add -public if that is meant", s.addr())
	case s.health && s.port == 0:
		return errors.New("-healthcheck needs the port that the program serves on: give it by -addr")
	}
	return nil
}

// fakeOptions returns the settings as options of the fake. All but the clock are options, so that a
// reset of the fake puts them back.
func (s *settings) fakeOptions() []fake.Option {
	opts := []fake.Option{
		fake.WithMinute(s.minute), fake.WithBan(s.ban.After, s.ban.For), fake.WithPets(s.pets...),
		fake.WithFaults(s.faults...), fake.WithBehavior(s.behavior), fake.WithSeed(s.random),
	}
	for i, k := range s.keys {
		if i == 0 {
			opts = append(opts, fake.WithAPIKey(k.Key), fake.WithPlan(s.planOf(k)))
		} else {
			opts = append(opts, fake.WithKey(k.Key, s.planOf(k)))
		}
	}
	if s.strict {
		opts = append(opts, fake.WithStrict())
	}
	return opts
}

func (s *settings) planOf(k admin.Key) fake.Plan { return *cmp.Or(k.Plan, &s.plan) }

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

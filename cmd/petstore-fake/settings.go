package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admin"
	"github.com/petstore/petstore-go/fake"
)

// settings are the values of all flags.
type settings struct {
	host, port string      // where to listen: host "" is every address, port "0" is any free port
	keys       []admin.Key // the first is the default key
	plan       fake.Plan   // the plan of keys for which no plan is given
	minute     time.Duration
	ban        ban
	clock      time.Time // the service's time at the start; zero: the machine's time
	pets       []petstore.NewPet
	faults     []fake.Fault
	behavior   fake.Behavior
	random     uint64
	strict     bool
	log        string
	public     bool
	names      []string // host names that an admin request may have as Host, besides loopback names
	health     bool
	version    bool
}

// ban is the value of -ban. It bans a key for the time For after more than After 429s in a row.
type ban struct {
	After int           `json:"after"`
	For   time.Duration `json:"for"`
}

// flags returns the flags, which help.txt describes. Parsing them sets the fields of s.
func (s *settings) flags() *flag.FlagSet {
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Func("addr", "", s.setAddr)
	flags.BoolFunc("public", "", s.setPublic)
	flags.Func("key", "", appendTo(&s.keys, admin.ReadKeys))
	flags.Func("plan", "", setTo(&s.plan, admin.Read))
	flags.DurationVar(&s.minute, "minute", time.Minute, "")
	flags.Func("ban", "", setTo(&s.ban, admin.Read))
	flags.TextVar(&s.clock, "clock", time.Time{}, "")
	flags.Func("pets", "", func(file string) error { return appendTo(&s.pets, admin.ReadList)("@" + file) })
	flags.Func("fault", "", appendTo(&s.faults, admin.ReadList))
	flags.Func("variant", "", setTo(&s.behavior, admin.Read))
	flags.Uint64Var(&s.random, "seed", 0, "")
	flags.BoolVar(&s.strict, "strict", false, "")
	flags.StringVar(&s.log, "log", "", "")
	flags.BoolVar(&s.health, "healthcheck", false, "")
	flags.BoolVar(&s.version, "version", false, "")
	return flags
}

// setTo returns a function that sets the value of a flag. This function calls read with the text of
// the flag or, if the text is @FILE, with the content of that file.
func setTo[T any](value *T, read func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		if file, isFile := strings.CutPrefix(text, "@"); isFile {
			all, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			text = string(all)
		}
		*value, err = read(text)
		return err
	}
}

// appendTo is like setTo, but appends to a list: the flag may be given several times.
func appendTo[T any](list *[]T, read func(string) ([]T, error)) func(string) error {
	return func(text string) error {
		var more []T
		err := setTo(&more, read)(text)
		*list = append(*list, more...)
		return err
	}
}

// readSettings reads the flags in args or, for a flag that is not given, its environment variable.
func readSettings(args []string, getenv func(string) string) (s settings, err error) {
	s.plan = fake.PlanBusiness
	_ = s.setAddr("127.0.0.1:4010") // it cannot fail: the address is valid
	// -healthcheck and -version have no variable: a pipeline may set PETSTORE_FAKE_VERSION=1.0.0 to
	// say which version it installs.
	flags, given := s.flags(), map[string]bool{"healthcheck": true, "version": true}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(f *flag.Flag) {
		name := variable(f.Name)
		if text := getenv(name); text != "" && !given[f.Name] {
			if wrong := flags.Set(f.Name, text); wrong != nil {
				err = cmp.Or(err, fmt.Errorf("invalid value %q for %s: %w", text, name, wrong))
			}
		}
	})
	if len(s.keys) == 0 {
		s.keys = []admin.Key{{Key: fake.DefaultAPIKey}}
	}
	return s, cmp.Or(err, s.check())
}

// variable returns the environment variable of a flag.
func variable(flag string) string {
	return "PETSTORE_FAKE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// check returns an error for a value that has the right form but makes no sense.
func (s *settings) check() error {
	switch {
	case s.minute%time.Second != 0 || s.minute <= 0 || s.minute > time.Hour:
		return errors.New("-minute must be a whole number of seconds from 1s to 1h")
	case s.ban != (ban{}) && (s.ban.After < 1 || s.ban.For <= 0):
		return errors.New("-ban needs a number of requests and a duration, both above 0: after=5,for=10m")
	case !slices.Contains([]string{"", "text", "json"}, s.log):
		return errors.New("-log must be text or json")
	case !s.public && !admin.IsLoopback(s.host):
		return fmt.Errorf("%s is not a loopback address: everybody who reaches it can use the fake and"+
			" its admin routes; add -public if that is meant", s.addr())
	}
	return nil
}

// fakeOptions returns the settings of the fake as options, so that a reset of the fake restores
// them. The clock has no option: the package admin sets it at the start and after a reset.
func (s *settings) fakeOptions() []fake.Option {
	opts := []fake.Option{
		fake.WithMinute(s.minute), fake.WithBan(s.ban.After, s.ban.For), fake.WithPets(s.pets...),
		fake.WithFaults(s.faults...), fake.WithBehavior(s.behavior), fake.WithSeed(s.random),
		fake.WithAPIKey(s.keys[0].Key), fake.WithPlan(s.planOf(s.keys[0])),
	}
	for _, k := range s.keys[1:] {
		opts = append(opts, fake.WithKey(k.Key, s.planOf(k)))
	}
	return opts
}

func (s *settings) planOf(k admin.Key) fake.Plan { return *cmp.Or(k.Plan, &s.plan) }

func (s *settings) setAddr(text string) (err error) {
	s.host, s.port, err = net.SplitHostPort(text)
	return err
}

func (s *settings) addr() string { return net.JoinHostPort(s.host, s.port) }

// setPublic sets the value of -public: true, false, or host names. Host names also make the program
// public.
func (s *settings) setPublic(text string) error {
	text = strings.ToLower(text)
	on, err := strconv.ParseBool(text)
	switch {
	case err == nil:
		s.public = on
	case slices.Contains([]string{"yes", "no", "on", "off"}, text): // not meant as host names
		return errors.New("it is not true, false, or host names with commas between them")
	default:
		s.public, s.names = true, strings.Split(text, ",")
	}
	return nil
}

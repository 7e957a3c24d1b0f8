package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// settings are what the flags and the environment say.
type settings struct {
	addr     spec.Address
	key      string
	plan     fake.Plan
	pets     []petstore.NewPet
	latency  time.Duration
	faults   []fake.Fault
	ban      ban
	behavior fake.Behavior
	log      string
	public   bool
	names    []string // hosts of admin requests, besides what is always allowed
	version  bool
}

// ban is the value of -ban.
type ban struct {
	after    int
	duration time.Duration
}

// readSettings reads the command line, and the environment for what is not on it. No error repeats
// a key.
func readSettings(args []string, getenv func(string) string) (settings, error) {
	s := settings{key: fake.DefaultAPIKey, plan: fake.PlanBusiness}
	s.addr, _ = spec.ParseAddress(spec.DefaultAddr)
	given, err := parseFlags(args)
	if err != nil {
		return s, err
	}
	for _, o := range options() {
		source, values := "-"+o.name, given[o.name]
		if v := getenv(o.env()); len(values) == 0 && v != "" {
			source, values = o.env(), []string{v}
		}
		for _, v := range values {
			if err := o.set(&s, v); err != nil {
				return s, fmt.Errorf("%s: %w", source, err)
			}
		}
	}
	if !s.public && !spec.IsLoopback(s.addr.Host) {
		return s, fmt.Errorf("%s is not a loopback address: whoever reaches it can use the fake and"+
			" its admin routes; add -public if that is meant", s.addr)
	}
	if s.addr.Host != "" {
		s.names = append(s.names, strings.ToLower(s.addr.Host))
	}
	return s, nil
}

// parseFlags gathers the values of the flags as they are. The flag package is not let near them: its
// errors repeat a value, which may be a key.
func parseFlags(args []string) (map[string][]string, error) {
	given := make(map[string][]string)
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, o := range options() {
		take := func(v string) error {
			given[o.name] = append(given[o.name], v)
			return nil
		}
		if o.alone {
			flags.BoolFunc(o.name, "", take)
		} else {
			flags.Func(o.name, "", take)
		}
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	}
	return given, nil
}

// setAddr and the functions below take the value of one option.
func setAddr(s *settings, v string) (err error) {
	s.addr, err = spec.ParseAddress(v)
	return err
}

func setKey(s *settings, v string) error {
	if err := spec.Attempt(func() { fake.WithKey(v, fake.Plan{}) }); err != nil {
		return errors.New("the key must be non-empty printable ASCII without spaces")
	}
	s.key = v
	return nil
}

func setPlan(s *settings, v string) (err error) {
	s.plan, err = spec.ParsePlan(v)
	return err
}

func setSeed(s *settings, v string) (err error) {
	s.pets, err = readSeed(v)
	return err
}

func setLatency(s *settings, v string) (err error) {
	s.latency, err = spec.ParseDuration(v)
	return err
}

func setFault(s *settings, v string) error {
	faults, err := spec.ParseFaults(v)
	s.faults = append(s.faults, faults...)
	return err
}

func setBan(s *settings, v string) error {
	after, duration, ok := strings.Cut(v, ",")
	if !ok {
		return fmt.Errorf("%q is not AFTER,DURATION, such as 5,10m", v)
	}
	n, err := strconv.Atoi(strings.TrimSpace(after))
	if err != nil || n < 1 {
		return fmt.Errorf("AFTER is %q; it must be a number of requests, at least 1", after)
	}
	d, err := spec.ParseDuration(strings.TrimSpace(duration))
	if err == nil && d == 0 {
		err = errors.New("it must be longer than 0")
	}
	if err != nil {
		return fmt.Errorf("DURATION: %w", err)
	}
	s.ban = ban{n, d}
	return nil
}

func setVariant(s *settings, v string) (err error) {
	s.behavior, err = spec.ParseBehavior(v)
	return err
}

func setLog(s *settings, v string) error {
	if v != logText && v != logJSON {
		return fmt.Errorf("there is no format %q; it is text or json", v)
	}
	s.log = v
	return nil
}

// setPublic takes a truth value, or the names by which the program is public.
func setPublic(s *settings, v string) error {
	if on, err := strconv.ParseBool(v); err == nil {
		s.public, s.names = on, nil
		return nil
	}
	names := strings.Split(strings.ToLower(v), ",")
	for _, name := range names {
		if !spec.IsHostName(name) {
			return fmt.Errorf("%q is no host name; names stand without scheme and port", name)
		}
	}
	s.public, s.names = true, slices.Clip(names)
	return nil
}

func setVersion(s *settings, v string) (err error) {
	if s.version, err = strconv.ParseBool(v); err != nil {
		return fmt.Errorf("%q is neither true nor false", v)
	}
	return nil
}

package fake

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// axis is one field of a Behavior as text: its name and its choices, the default first.
type axis struct {
	name    string
	choices []string
	get     func() int // an index in choices, -1 for a value that is none of them
	set     func(int)
}

// axesOf returns the fields of b in the order in which String writes them.
func axesOf(b *Behavior) []axis {
	return []axis{
		newAxis("default-status", []string{"none", "available", "pending", "sold"},
			&b.DefaultStatus, "", "available", "pending", "sold"),
		newAxis("retry-after", []string{"seconds", "date", "absent"},
			&b.RetryAfter, RetryAfterSeconds, RetryAfterDate, RetryAfterAbsent),
		newAxis("limit-body", []string{"error", "empty", "html"},
			&b.LimitBody, BodyError, BodyEmpty, BodyHTML),
		newAxis("order", []string{"ascending", "descending", "shuffled"},
			&b.Order, OrderAscending, OrderDescending, OrderShuffled),
		newAxis("invalid-limit", []string{"reject", "ignore", "clamp"},
			&b.InvalidLimit, InvalidReject, InvalidIgnore, InvalidClamp),
		newAxis("invalid-status", []string{"reject", "ignore", "clamp"},
			&b.InvalidStatus, InvalidReject, InvalidIgnore, InvalidClamp),
		newAxis("window", []string{"fixed", "aligned", "sliding"},
			&b.Window, WindowFixed, WindowAligned, WindowSliding),
		newAxis("ban-reset", []string{"window", "ban", "absent"},
			&b.BanReset, BanResetWindow, BanResetBan, BanResetAbsent),
		newAxis("removal", []string{"off", "on"}, &b.Removal, false, true),
		newAxis("deprecation-headers", []string{"off", "on"}, &b.DeprecationHeaders, false, true),
	}
}

// newAxis returns the axis of a field, with the values of its choices.
func newAxis[T comparable](name string, choices []string, field *T, values ...T) axis {
	return axis{
		name, choices,
		func() int { return slices.Index(values, *field) },
		func(i int) { *field = values[i] },
	}
}

// String returns the choices that differ from the default, such as
// "retry-after=date,window=sliding", or "default". The program petstore-fake reads it.
func (b Behavior) String() string {
	var words []string
	for _, a := range axesOf(&b) {
		switch i := a.get(); {
		case i < 0:
			words = append(words, a.name+"=invalid")
		case i > 0:
			words = append(words, a.name+"="+a.choices[i])
		}
	}
	return cmp.Or(strings.Join(words, ","), "default")
}

// Validate returns an error if a field has a value that is none of its constants, or if
// DefaultStatus is no status of section 2.
func (b Behavior) Validate() error {
	if problem := b.problem(); problem != "" {
		return errors.New("fake: Behavior: " + problem)
	}
	return nil
}

func (b Behavior) problem() string {
	for _, a := range axesOf(&b) {
		if a.get() < 0 {
			return a.name + " is out of range; " + a.allowed()
		}
	}
	return ""
}

func choose(b *Behavior, name, choice string) error {
	var names []string
	for _, a := range axesOf(b) {
		if a.name != name {
			names = append(names, a.name)
			continue
		}
		n := slices.Index(a.choices, choice)
		if n < 0 {
			return fmt.Errorf("%s is %s; %s", name, quote(choice), a.allowed())
		}
		a.set(n)
		return nil
	}
	return fmt.Errorf("there is no behaviour %s; there are default, or a list of %s",
		quote(name), strings.Join(names, ", "))
}

func (a axis) allowed() string { return "it must be one of " + strings.Join(a.choices, ", ") }

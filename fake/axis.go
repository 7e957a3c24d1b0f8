package fake

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	petstore "github.com/petstore/petstore-go"
)

// axis is one field of Behavior as text: its name and its choices, the default first.
type axis struct {
	name    string
	choices []string
	get     func(*Behavior) int // an index in choices, -1 for a value that is none of them
	set     func(*Behavior, int)
}

// axes returns the fields of Behavior in the order in which String writes them.
func axes() []axis {
	return []axis{
		statusAxis(),
		newAxis("retry-after", []string{"seconds", "date", "absent"},
			func(b *Behavior) *RetryAfterForm { return &b.RetryAfter },
			RetryAfterSeconds, RetryAfterDate, RetryAfterAbsent),
		newAxis("limit-body", []string{"error", "empty", "html"},
			func(b *Behavior) *BodyForm { return &b.LimitBody }, BodyError, BodyEmpty, BodyHTML),
		newAxis("order", []string{"ascending", "descending", "shuffled"},
			func(b *Behavior) *Order { return &b.Order },
			OrderAscending, OrderDescending, OrderShuffled),
		newAxis("invalid-limit", []string{"reject", "ignore", "clamp"},
			func(b *Behavior) *InvalidParam { return &b.InvalidLimit },
			InvalidReject, InvalidIgnore, InvalidClamp),
		newAxis("invalid-status", []string{"reject", "ignore", "clamp"},
			func(b *Behavior) *InvalidParam { return &b.InvalidStatus },
			InvalidReject, InvalidIgnore, InvalidClamp),
		newAxis("window", []string{"fixed", "aligned", "sliding"},
			func(b *Behavior) *Window { return &b.Window }, WindowFixed, WindowAligned, WindowSliding),
		newAxis("ban-reset", []string{"window", "ban", "absent"},
			func(b *Behavior) *BanReset { return &b.BanReset },
			BanResetWindow, BanResetBan, BanResetAbsent),
		newAxis("removal", []string{"off", "on"},
			func(b *Behavior) *bool { return &b.Removal }, false, true),
		newAxis("deprecation-headers", []string{"off", "on"},
			func(b *Behavior) *bool { return &b.DeprecationHeaders }, false, true),
	}
}

// newAxis returns the axis of a field, with the values of its choices.
func newAxis[T comparable](
	name string, choices []string, field func(*Behavior) *T, values ...T,
) axis {
	return axis{
		name, choices,
		func(b *Behavior) int { return slices.Index(values, *field(b)) },
		func(b *Behavior, i int) { *field(b) = values[i] },
	}
}

func statusAxis() axis {
	values := []petstore.PetStatus{""}
	for _, s := range statuses() {
		values = append(values, petstore.PetStatus(s))
	}
	return newAxis("default-status", append([]string{"none"}, statuses()...),
		func(b *Behavior) *petstore.PetStatus { return &b.DefaultStatus }, values...)
}

// String returns the choices that differ from the default, such as
// "retry-after=date,window=sliding", or "default". The program petstore-fake reads it.
func (b Behavior) String() string {
	var words []string
	for _, a := range axes() {
		switch i := a.get(&b); {
		case i < 0:
			words = append(words, a.name+"=invalid")
		case i > 0:
			words = append(words, a.name+"="+a.choices[i])
		}
	}
	if len(words) == 0 {
		return "default"
	}
	return strings.Join(words, ",")
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
	for _, a := range axes() {
		if a.get(&b) < 0 {
			return a.name + " is out of range; " + a.allowed()
		}
	}
	return ""
}

// choose sets one field of b.
func choose(b *Behavior, name, choice string) error {
	a := axisOf(name)
	if a.name == "" {
		var names []string
		for _, a := range axes() {
			names = append(names, a.name)
		}
		return fmt.Errorf("there is no behaviour %s; there are default, or a list of %s",
			quote(name), strings.Join(names, ", "))
	}
	n := slices.Index(a.choices, choice)
	if n < 0 {
		return fmt.Errorf("%s is %s; %s", name, quote(choice), a.allowed())
	}
	a.set(b, n)
	return nil
}

// allowed says which choices there are.
func (a axis) allowed() string { return "it must be one of " + strings.Join(a.choices, ", ") }

// axisOf returns the axis of a name, the zero axis if there is none.
func axisOf(name string) axis {
	for _, a := range axes() {
		if a.name == name {
			return a
		}
	}
	return axis{}
}

package spec

import (
	"fmt"
	"slices"
	"strings"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// Choice is one point on which the service document is silent, in the words of fake.Variants. Its
// first level is the default.
type Choice struct {
	// Name and Levels are the words of the option -variant.
	Name   string
	Levels []string
	set    func(b *fake.Behavior, level int)
}

// Choices returns the points on which the service document is silent.
func Choices() []Choice {
	onOff := []string{"off", "on"}
	return []Choice{
		{"default-status", []string{"none", "available", "pending", "sold"}, setDefaultStatus},
		{
			"retry-after",
			[]string{"seconds", "date", "absent"},
			func(b *fake.Behavior, i int) { b.RetryAfter = fake.RetryAfterForm(i) },
		},
		{
			"limit-body",
			[]string{"error", "empty", "html"},
			func(b *fake.Behavior, i int) { b.LimitBody = fake.BodyForm(i) },
		},
		{
			"order",
			[]string{"ascending", "descending", "shuffled"},
			func(b *fake.Behavior, i int) { b.Order = fake.Order(i) },
		},
		{
			"invalid-limit",
			[]string{"reject", "ignore", "clamp"},
			func(b *fake.Behavior, i int) { b.InvalidLimit = fake.InvalidParam(i) },
		},
		{
			"invalid-status",
			[]string{"reject", "ignore"},
			func(b *fake.Behavior, i int) { b.InvalidStatus = fake.InvalidParam(i) },
		},
		{
			"window",
			[]string{"fixed", "aligned", "sliding"},
			func(b *fake.Behavior, i int) { b.Window = fake.Window(i) },
		},
		{"removal", onOff, func(b *fake.Behavior, i int) { b.Removal = i == 1 }},
		{"deprecation-headers", onOff, func(b *fake.Behavior, i int) { b.DeprecationHeaders = i == 1 }},
	}
}

func setDefaultStatus(b *fake.Behavior, level int) {
	b.DefaultStatus = [...]petstore.PetStatus{
		"", petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold,
	}[level]
}

// ParseBehavior reads a list such as retry-after=date,window=sliding; the names of fake.Variants are
// such lists.
func ParseBehavior(text string) (fake.Behavior, error) {
	var b fake.Behavior
	if text == "default" {
		return b, nil
	}
	seen := make(map[string]bool)
	for word := range strings.SplitSeq(text, ",") {
		name, level, _ := strings.Cut(strings.TrimSpace(word), "=")
		if seen[name] {
			return b, fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		if err := setBehavior(&b, name, level); err != nil {
			return b, err
		}
	}
	return b, nil
}

func setBehavior(b *fake.Behavior, name, level string) error {
	all := Choices()
	i := slices.IndexFunc(all, func(c Choice) bool { return c.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for i, c := range all {
			names[i] = c.Name
		}
		return fmt.Errorf("there is no behaviour %q; there are default, or a list of %s",
			Clip(name), strings.Join(names, ", "))
	}
	n := slices.Index(all[i].Levels, level)
	if n < 0 {
		return fmt.Errorf("%s is %q; it must be one of %s",
			name, Clip(level), strings.Join(all[i].Levels, ", "))
	}
	all[i].set(b, n)
	return nil
}

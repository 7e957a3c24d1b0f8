package option_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/option"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config has a field of each sort.
type config struct {
	number  int
	text    string
	flag    bool
	pointer *error
	closer  error
	f       func() string
}

// list is an error that cannot be compared.
type list []error

func (list) Error() string { return "a-secret" }

// empty is an error as a struct.
type empty struct{}

func (empty) Error() string { return "" }

var (
	number = option.New("Number", func(n int) string {
		if n < 0 {
			return "is negative"
		}
		return ""
	}, func(c *config, n int) { c.number = n })
	text    = option.New("Text", nil, func(c *config, s string) { c.text = s })
	flag    = option.New("Flag", nil, func(c *config, _ option.None) { c.flag = true })
	pointer = option.New("Pointer", option.Nil[*error], func(c *config, p *error) { c.pointer = p })
	closer  = option.New("Error", option.Nil[error], func(c *config, err error) { c.closer = err })
	f       = option.New("Func", option.Nil[func() string], func(c *config, f func() string) { c.f = f })
	reserve = option.New("Reserve", nil, func(c *config, n int) { c.number = n })
)

func TestValue(t *testing.T) {
	secret := errors.New("a-secret")
	function := func() string { return "called" }
	for want, makes := range map[string]func() option.Value[config]{
		"Number(7)":                  func() option.Value[config] { return number.Of(7) },
		`Text("a\nb")`:               func() option.Value[config] { return text.Of("a\nb") },
		"Flag()":                     func() option.Value[config] { return flag.Of(option.None{}) },
		"Pointer(*error)":            func() option.Value[config] { return pointer.Of(&secret) },
		"Error(*errors.errorString)": func() option.Value[config] { return closer.Of(secret) },
	} {
		for _, verb := range []string{"%v", "%s", "%#v", "%+v", "%d", "%x"} {
			assert.Equal(t, want, fmt.Sprintf(verb, makes()))
		}
		assert.True(t, makes() == makes(), want) //nolint:testifylint // it is about ==
		name, problem := makes().Apply(new(config))
		assert.Empty(t, problem, name)
	}
	for want, o := range map[string]option.Value[config]{"Func(func)": f.Of(function), "Error(*error)": closer.Of(list{secret})} {
		assert.Equal(t, want, o.String())
		assert.True(t, o == o, want) //nolint:gocritic,testifylint // some values do not equal themselves, or panic
	}
	assert.False(t, number.Of(7) == number.Of(8))  //nolint:testifylint // it is about ==
	assert.False(t, number.Of(7) == reserve.Of(7)) //nolint:testifylint // it is about ==
}

func TestApply(t *testing.T) {
	var c config
	function := func() string { return "called" }
	for _, o := range []option.Value[config]{
		number.Of(7), text.Of("a"), flag.Of(option.None{}), closer.Of(list{context.Canceled}), f.Of(function),
	} {
		o.Apply(&c)
	}
	assert.Equal(t, "called", c.f())
	c.f = nil
	assert.Equal(t, config{number: 7, text: "a", flag: true, closer: list{context.Canceled}}, c)

	for want, o := range map[string]option.Value[config]{
		"Number is negative": number.Of(-1), "Pointer is nil": pointer.Of(nil), "Error is nil": closer.Of(nil), "Func is nil": f.Of(nil),
	} {
		name, problem := o.Apply(&c)
		assert.Equal(t, want, name+" "+problem)
	}
	assert.Equal(t, 7, c.number, "a value with a problem is not set")
	_, problem := number.Of(0).Apply(&c)
	assert.Empty(t, problem)
	_, problem = closer.Of(empty{}).Apply(&c)
	assert.Empty(t, problem, "the zero value of a struct in an interface is not nil")
}

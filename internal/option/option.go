// Package option makes options that are values: two are equal with == if they set the same to the
// same, so that mocks can match them.
package option

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
)

// Kind is what all options of one name have in common. C is what they configure, T their value.
type Kind[C, T any] struct {
	name    string
	set     func(*C, T)
	problem func(T) string
}

// New returns the kind of the options that the function name makes. problem returns what is wrong
// with a value, empty if nothing is; nil allows all. set applies the value to what is configured.
func New[C, T any](name string, problem func(T) string, set func(*C, T)) *Kind[C, T] {
	return &Kind[C, T]{name, set, problem}
}

// Of returns the option with v. A value that cannot be compared, such as a function, is in it as a
// pointer, so that the option equals only itself.
func (k *Kind[C, T]) Of(v T) Value[C] {
	if r := reflect.ValueOf(v); r.IsValid() && !r.Comparable() {
		return Value[C]{k, &v}
	}
	return Value[C]{k, v}
}

func (k *Kind[C, T]) apply(c *C, held any) (name, problem string) {
	v, _ := held.(T)
	if p, ok := held.(*T); ok {
		v = *p
	}
	if k.problem != nil {
		problem = k.problem(v)
	}
	if problem == "" {
		k.set(c, v)
	}
	return k.name, problem
}

// text writes a pointer and an interface as their type: what they have may be long or secret.
func (k *Kind[C, T]) text(held any) string {
	var text string
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Func:
		text = "func"
	case reflect.Pointer, reflect.Interface:
		text = fmt.Sprintf("%T", held)
	case reflect.String:
		text = strconv.Quote(fmt.Sprint(held))
	default:
		text = fmt.Sprintf("%+v", held)
	}
	return k.name + "(" + text + ")"
}

// Value is an option. C is what it configures.
type Value[C any] struct {
	kind interface {
		apply(c *C, held any) (name, problem string)
		text(held any) string
	}
	held any // the value, or a pointer to it
}

// Apply sets the value in c, unless it has a problem. It returns the problem and the name of the
// option.
func (v Value[C]) Apply(c *C) (name, problem string) { return v.kind.apply(c, v.held) }

// String returns the option as it is written in Go, such as WithMaxWait(5s), without secrets.
func (v Value[C]) String() string { return v.kind.text(v.held) }

// Format writes String for each verb: %#v would show more.
func (v Value[C]) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.String()) }

// None is the value of an option without one.
type None struct{}

// String returns the empty string.
func (None) String() string { return "" }

// Nil is the problem of a value that is nil.
func Nil[T any](v T) string {
	if reflect.ValueOf(&v).Elem().IsZero() {
		return "is nil"
	}
	return ""
}

package petstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/errtext"
	"github.com/petstore/petstore-go/internal/retry"
)

// Options are values: two are equal with == if they set the same to the same, so that mocks can
// match them. Functions cannot be compared; their options have a pointer, and each equals itself
// only.

// Option configures a [Client] in [NewClient]. Options are values: they can be compared with ==,
// and String returns them as they are written in Go, without secrets. An option with a function
// equals only itself.
type Option interface {
	fmt.Stringer
	applyClient(*clientConfig) error
}

// CallOption configures a [Client] in [NewClient], or a single call. An option of the call
// overrides the same option of its client.
type CallOption interface {
	Option
	applyCall(*callConfig) error
}

// optionKind is what all options of one name have in common.
type optionKind[C, T any] struct {
	name  string
	apply func(*C, T) error
	text  func(T) string // of the value; nil for fmt.Sprint
}

// option is an option of a kind. C is what it configures.
type option[C, T any] struct {
	kind  *optionKind[C, T]
	value T
}

// String returns the option as it is written in Go, such as WithMaxWait(5s). It has no secret.
func (o option[C, T]) String() string {
	if o.kind.text != nil {
		return o.kind.name + "(" + o.kind.text(o.value) + ")"
	}
	return o.kind.name + "(" + fmt.Sprint(o.value) + ")"
}

// Format writes String for each verb: %#v would show the values of headers.
func (o option[C, T]) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

type clientOption[T any] struct{ option[clientConfig, T] }

func (o clientOption[T]) applyClient(c *clientConfig) error { return o.kind.apply(c, o.value) }

type callOption[T any] struct{ option[callConfig, T] }

func (o callOption[T]) applyClient(c *clientConfig) error { return o.kind.apply(&c.call, o.value) }
func (o callOption[T]) applyCall(c *callConfig) error     { return o.kind.apply(c, o.value) }

func clientValue[T any](kind *optionKind[clientConfig, T], value T) Option {
	return clientOption[T]{option[clientConfig, T]{kind, value}}
}

func callValue[T any](kind *optionKind[callConfig, T], value T) CallOption {
	return callOption[T]{option[callConfig, T]{kind, value}}
}

// none is the value of an option without one.
type none struct{}

func noText(none) string { return "" }

// typeText returns the type of v, for values that say no more, or too much.
func typeText[T any](v T) string { return fmt.Sprintf("%T", v) }

// funcText is typeText for a pointer to a function.
func funcText[T any](*T) string { return "func" }

// comparableOf returns an interface value as an option has it: the value itself if it can be
// compared, else a pointer to it.
func comparableOf[T any](v T) any {
	if r := reflect.ValueOf(v); !r.IsValid() || r.Comparable() {
		return v
	}
	return &v
}

// original returns what comparableOf was given.
func original[T any](v any) T {
	if p, ok := v.(*T); ok {
		return *p
	}
	t, _ := v.(T)
	return t
}

// joined is the result of Options: a list, because slices cannot be compared.
type joined struct{ first, rest Option }

// Options joins options to one, which applies them in their order.
func Options(opts ...Option) Option {
	if len(opts) == 0 {
		return joined{}
	}
	return joined{opts[0], Options(opts[1:]...)}
}

func (j joined) applyClient(c *clientConfig) error {
	if j.rest == nil {
		return nil
	}
	if j.first == nil {
		return invalid("Options", "has an option that is nil")
	}
	if err := j.first.applyClient(c); err != nil {
		return err
	}
	return j.rest.applyClient(c)
}

// String returns the options as they are written in Go.
func (j joined) String() string {
	var texts []string
	for ; j.rest != nil; j = j.rest.(joined) {
		texts = append(texts, fmt.Sprint(j.first))
	}
	return "Options(" + strings.Join(texts, ", ") + ")"
}

// Format writes String for each verb.
func (j joined) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, j.String()) }

// clientConfig is the result of all options of NewClient.
type clientConfig struct {
	httpClient       *http.Client
	ownTransport     bool // httpClient is the client's own
	product          string
	stop             context.Context //nolint:containedctx // of WithStop
	keyFunc          func(context.Context) (string, error)
	insecureHTTP     bool
	maxResponseBytes int64
	limiter          Limiter
	traces           []*ClientTrace
	wraps            []func(http.RoundTripper) http.RoundTripper
	call             callConfig
}

// callConfig has the settings that may differ from call to call. Calls share it, so neither it nor
// its header is changed in place: an option changes a copy.
type callConfig struct {
	retry          retry.Policy
	maxWait        time.Duration
	attemptTimeout time.Duration
	callTimeout    time.Duration // 0 means none
	background     bool
	rawBody        bool
	header         http.Header
}

// invalid returns an error about an option or argument; withOperation adds the operation.
func invalid(argument, reason string) error { return argumentError("", argument, reason) }

func argumentError(operation, argument, reason string) error {
	return &ArgumentError{operation, argument, reason}
}

// with returns c with opts applied; c itself if there are none.
func (c *callConfig) with(opts []CallOption) (*callConfig, error) {
	if len(opts) == 0 {
		return c, nil
	}
	changed := *c
	for i, opt := range opts {
		if opt == nil {
			return nil, invalid(fmt.Sprintf("option %d", i+1), "is nil")
		}
		if err := opt.applyCall(&changed); err != nil {
			return nil, err
		}
	}
	return &changed, nil
}

// withOperation adds the operation to the field of an ArgumentError, or to the text of another
// error.
func withOperation(err error, operation string) error {
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Operation = operation
		return e
	}
	return fmt.Errorf("%s%w", errtext.Prefix(operation), err)
}

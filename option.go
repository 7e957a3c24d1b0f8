package petstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/option"
	"github.com/petstore/petstore-go/internal/retry"
)

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

type clientOption struct{ option.Value[clientConfig] }

func (o clientOption) applyClient(c *clientConfig) error { return invalid(o.Apply(c)) }

type callOption struct{ option.Value[callConfig] }

func (o callOption) applyClient(c *clientConfig) error { return invalid(o.Apply(&c.call)) }
func (o callOption) applyCall(c *callConfig) error     { return invalid(o.Apply(c)) }

// joined is the result of Options: a list, because slices cannot be compared.
type joined struct{ first, rest Option }

// Options joins options to one, which applies them in their order.
func Options(opts ...Option) Option {
	var all joined
	for _, opt := range slices.Backward(opts) {
		all = joined{opt, all}
	}
	return all
}

func (j joined) options() (opts []Option) {
	for ; j.rest != nil; j = j.rest.(joined) {
		opts = append(opts, j.first)
	}
	return opts
}

func (j joined) applyClient(c *clientConfig) error {
	return applyAll(j.options(), func(o Option) error { return o.applyClient(c) })
}

// String returns the options as they are written in Go.
func (j joined) String() string {
	var texts []string
	for _, opt := range j.options() {
		texts = append(texts, fmt.Sprint(opt))
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
	header         http.Header
}

// invalid returns an error about an option or argument; nil if reason is empty. withOperation adds
// the operation.
func invalid(argument, reason string) error {
	if reason == "" {
		return nil
	}
	return argumentError("", argument, reason)
}

func argumentError(operation, argument, reason string) error {
	return &ArgumentError{operation, argument, reason}
}

// with returns c with opts applied; c itself if there are none.
func (c *callConfig) with(opts []CallOption) (*callConfig, error) {
	if len(opts) == 0 {
		return c, nil
	}
	changed := *c
	return &changed, applyAll(opts, func(o CallOption) error { return o.applyCall(&changed) })
}

func applyAll[O Option](opts []O, apply func(O) error) error {
	for i, opt := range opts {
		if any(opt) == nil {
			return invalid(fmt.Sprintf("option %d", i+1), "is nil")
		}
		if err := apply(opt); err != nil {
			return err
		}
	}
	return nil
}

// withOperation adds the operation to the ArgumentError in err.
func withOperation(err error, operation string) error {
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Operation = operation
	}
	return err
}

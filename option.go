package petstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/retry"
)

// Option configures a [Client] in [NewClient].
type Option interface {
	applyClient(c *clientConfig) error
}

// CallOption configures a [Client] in [NewClient], or a single call. An option of the call
// overrides the same option of its client.
type CallOption interface {
	Option
	applyCall(c *callConfig) error
}

type clientOption func(*clientConfig) error

func (o clientOption) applyClient(c *clientConfig) error { return o(c) }

type callOption func(*callConfig) error

func (o callOption) applyClient(c *clientConfig) error { return o(&c.call) }
func (o callOption) applyCall(c *callConfig) error     { return o(c) }

// Options joins options to one, which applies them in their order.
func Options(opts ...Option) Option {
	return clientOption(func(c *clientConfig) error {
		return applyAll(opts, func(o Option) error { return o.applyClient(c) })
	})
}

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

// notNil returns the error of an option whose value is nil.
func notNil(name string, isNil bool) error {
	if isNil {
		return invalid(name, "is nil")
	}
	return nil
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

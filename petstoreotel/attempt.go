package petstoreotel

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
)

// attempt is one request, until its response has been read.
type attempt struct {
	ctx      context.Context // of the request, with its span, for the exemplars of the duration
	span     trace.Span
	duration httpconv.ClientRequestDuration
	started  time.Time
	known    []attribute.KeyValue // of the duration, when it started
	outcome  []attribute.KeyValue // of the span and the duration
	failed   bool
	over     atomic.Bool
}

// begin starts the span of a request, and returns the request with the span's context in it. req
// and its body stay as they are: net/http sends the header separately ahead of a body whose type it
// does not know.
func (t *transport) begin(req *http.Request, c petstore.Call) (*attempt, *http.Request) {
	name, attributes, known := describe(req, c)
	a := &attempt{
		ctx: req.Context(), span: tracenoop.Span{}, duration: t.metrics.requestDuration,
		started: time.Now(), known: known,
	}
	if t.tracer != nil {
		a.ctx, a.span = t.tracer.Start(a.ctx, name,
			trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	}
	sent := req.WithContext(a.ctx)
	return a, t.inject(sent, &carrier{request: sent, owned: true})
}

// responded takes the header of the response. The attempt ends with its body.
func (a *attempt) responded(resp *http.Response) {
	a.outcome = append(a.outcome, semconv.HTTPResponseStatusCode(resp.StatusCode))
	if version := protocolVersion(resp); version != "" {
		a.outcome = append(a.outcome, semconv.NetworkProtocolVersion(version))
	}
	if resp.StatusCode >= http.StatusBadRequest {
		a.fail(strconv.Itoa(resp.StatusCode))
	}
	if resp.StatusCode == http.StatusSwitchingProtocols || resp.Body == nil || resp.Body == http.NoBody {
		a.end(nil)
		return
	}
	resp.Body = &body{resp.Body, a}
}

// fail takes over the first error of the attempt.
func (a *attempt) fail(errorType string) {
	if !a.failed {
		a.failed = true
		a.outcome = append(a.outcome, semconv.ErrorTypeKey.String(errorType))
	}
}

// end ends the span and records how long it took. Only the first call has an effect.
func (a *attempt) end(err error) {
	if a.over.Swap(true) {
		return
	}
	elapsed := time.Since(a.started)
	if err != nil {
		a.fail(attemptErrorType(a.ctx, err))
	}
	if a.duration.Enabled(a.ctx) {
		a.duration.RecordSet(a.ctx, elapsed.Seconds(), attribute.NewSet(append(a.known, a.outcome...)...))
	}
	a.span.SetAttributes(a.outcome...)
	if a.failed {
		a.span.SetStatus(codes.Error, "")
	}
	a.span.End()
}

// protocolVersion returns the version as the convention writes it: 1.0, 1.1, 2, 3; empty if the
// transport gives none.
func protocolVersion(resp *http.Response) string {
	switch resp.ProtoMajor {
	case 0:
		return ""
	case 1:
		return "1." + strconv.Itoa(resp.ProtoMinor)
	}
	return strconv.Itoa(resp.ProtoMajor)
}

// body ends the attempt when the response has been read or is closed.
type body struct {
	io.ReadCloser
	attempt *attempt
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.attempt.end(nil)
	} else if err != nil {
		b.attempt.end(err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.attempt.end(nil)
	return err
}

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
	ctx        context.Context // of the request, with its span, for the exemplars of the duration
	span       trace.Span
	duration   httpconv.ClientRequestDuration
	target     target
	started    time.Time
	statusCode int    // 0: no response
	protocol   string // "": not known
	over       atomic.Bool
}

// begin starts the span of a request, and returns the request with the span's context in it. req
// and its body stay as they are: net/http sends the header separately ahead of a body whose type it
// does not know.
func (t *transport) begin(req *http.Request, c petstore.Call) (*attempt, *http.Request) {
	a := &attempt{duration: t.metrics.requestDuration, started: time.Now(), target: newTarget(req, c)}
	a.ctx, a.span = req.Context(), tracenoop.Span{}
	if t.tracer != nil {
		a.ctx, a.span = t.tracer.Start(a.ctx, a.target.spanName(),
			trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(a.target.attributes(c)...))
	}
	sent := req.WithContext(a.ctx)
	return a, t.inject(sent, &carrier{request: sent, owned: true})
}

// responded takes the header of the response. The attempt ends with its body.
func (a *attempt) responded(resp *http.Response) {
	a.statusCode = resp.StatusCode
	a.protocol = protocolVersion(resp)
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols, resp.Body == nil, resp.Body == http.NoBody:
		a.end(nil)
	default:
		resp.Body = &body{resp.Body, a}
	}
}

// end ends the span and records how long it took. Only the first call has an effect.
func (a *attempt) end(err error) {
	if a.over.Swap(true) {
		return
	}
	elapsed := time.Since(a.started)
	if recording := a.span.IsRecording(); !recording && !a.duration.Enabled(a.ctx) {
		a.span.End()
		return
	}
	outcome := a.outcome(err)
	a.duration.Record(a.ctx, elapsed.Seconds(), a.target.method, a.target.server.address, a.target.server.port,
		append(a.target.metricAttributes(), outcome...)...)
	a.span.SetAttributes(outcome...)
	if err != nil || a.statusCode >= http.StatusBadRequest {
		a.span.SetStatus(codes.Error, "")
	}
	a.span.End()
}

func (a *attempt) outcome(err error) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 3)
	if a.statusCode != 0 {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(a.statusCode))
	}
	if a.protocol != "" {
		attrs = append(attrs, semconv.NetworkProtocolVersion(a.protocol))
	}
	switch {
	case a.statusCode >= http.StatusBadRequest:
		attrs = append(attrs, semconv.ErrorTypeKey.String(strconv.Itoa(a.statusCode)))
	case err != nil:
		attrs = append(attrs, semconv.ErrorTypeKey.String(attemptErrorType(a.ctx, err)))
	}
	return attrs
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

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/petstore/petstore-go/petstoreotel"
)

// tree is an exporter that keeps spans until they are printed.
type tree struct {
	mu    sync.Mutex
	spans []sdktrace.ReadOnlySpan
}

// ExportSpans implements [sdktrace.SpanExporter].
func (t *tree) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans = append(t.spans, spans...)
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (*tree) Shutdown(context.Context) error { return nil }

// print prints and forgets the spans since the last call, and the events on them.
func (t *tree) print(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, span := range t.spans {
		if !span.Parent().IsValid() {
			fmt.Fprintln(w, describeSpan(span))
			t.printBelow(w, span, "")
		}
	}
	t.spans = nil
}

// line is a span or an event.
type line struct {
	at   time.Time
	text string
	span sdktrace.ReadOnlySpan // nil: an event
}

// printBelow prints the children of a span, and the events on it, in the order in which they began.
func (t *tree) printBelow(w io.Writer, parent sdktrace.ReadOnlySpan, indent string) {
	var lines []line
	for _, span := range t.spans {
		if span.Parent().SpanID() == parent.SpanContext().SpanID() {
			lines = append(lines, line{span.StartTime(), describeSpan(span), span})
		}
	}
	for _, event := range parent.Events() {
		lines = append(lines, line{event.Time, describeEvent(event), nil})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	for i, l := range lines {
		branch, next := "├─ ", "│  "
		if i == len(lines)-1 {
			branch, next = "└─ ", "   "
		}
		fmt.Fprintln(w, indent+branch+l.text)
		if l.span != nil {
			t.printBelow(w, l.span, indent+next)
		}
	}
}

func describeSpan(span sdktrace.ReadOnlySpan) string {
	parts := []string{span.Name(), span.SpanKind().String(), rounded(span.EndTime().Sub(span.StartTime())).String()}
	for _, kv := range span.Attributes() {
		switch kv.Key {
		case "http.response.status_code", "http.request.resend_count", "error.type",
			petstoreotel.AttributeOutcomeUnknown:
			parts = append(parts, string(kv.Key)+"="+kv.Value.String())
		}
	}
	return strings.Join(parts, "  ")
}

func describeEvent(event sdktrace.Event) string {
	attributes := attribute.NewSet(event.Attributes...)
	reason, _ := attributes.Value(petstoreotel.AttributeWaitReason)
	seconds, _ := attributes.Value(petstoreotel.AttributeWaitDuration)
	waited := rounded(time.Duration(seconds.AsFloat64() * float64(time.Second)))
	return fmt.Sprintf("%s  reason %s  %s", event.Name, reason.String(), waited)
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

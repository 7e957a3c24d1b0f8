package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// line is a request of a call, or a wait.
type line struct {
	at   time.Time
	text string
}

// printTree prints the span of a call, and below it those of its requests and its waits, in the order
// in which they began.
func printTree(w io.Writer, spans tracetest.SpanStubs) {
	var lines []line
	for _, span := range spans {
		if span.Parent.IsValid() {
			lines = append(lines, line{span.StartTime, describeSpan(span)})
			continue
		}
		fmt.Fprintln(w, describeSpan(span))
		for _, event := range span.Events {
			lines = append(lines, line{event.Time, describeWait(event)})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	for i, l := range lines {
		branch := "├─ "
		if i == len(lines)-1 {
			branch = "└─ "
		}
		fmt.Fprintln(w, branch+l.text)
	}
}

func describeSpan(span tracetest.SpanStub) string {
	parts := []string{span.Name, span.SpanKind.String(), rounded(span.EndTime.Sub(span.StartTime)).String()}
	for _, kv := range span.Attributes {
		switch kv.Key {
		case "http.response.status_code", "http.request.resend_count", "error.type",
			"petstore.outcome_unknown":
			parts = append(parts, string(kv.Key)+"="+kv.Value.String())
		}
	}
	return strings.Join(parts, "  ")
}

func describeWait(event trace.Event) string {
	attributes := attribute.NewSet(event.Attributes...)
	reason, _ := attributes.Value("petstore.wait.reason")
	seconds, _ := attributes.Value("petstore.wait.duration")
	waited := rounded(time.Duration(seconds.AsFloat64() * float64(time.Second)))
	return fmt.Sprintf("%s  reason %s  %s", event.Name, reason.String(), waited)
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
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
			lines = append(lines, line{event.Time, event.Name + describe(event.Attributes)})
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
	took := span.EndTime.Sub(span.StartTime).Round(100 * time.Microsecond)
	return fmt.Sprintf("%s  %s  %s%s", span.Name, span.SpanKind, took, describe(span.Attributes))
}

// describe returns the attributes that matter here.
func describe(attributes []attribute.KeyValue) string {
	var text strings.Builder
	for _, kv := range attributes {
		switch kv.Key {
		case "http.response.status_code", "http.request.resend_count", "error.type", "petstore.outcome_unknown",
			"petstore.wait.reason", "petstore.wait.duration":
			fmt.Fprintf(&text, "  %s=%s", kv.Key, kv.Value.String())
		}
	}
	return text.String()
}

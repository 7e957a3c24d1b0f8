package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// printTree prints the span of a call, and below it its requests and waits, in the order in which they
// began.
func printTree(w io.Writer, spans tracetest.SpanStubs) {
	call, below := spans[len(spans)-1], spans[:len(spans)-1] // a call ends last
	for _, wait := range call.Events {
		below = append(below, tracetest.SpanStub{Name: wait.Name, StartTime: wait.Time, Attributes: wait.Attributes})
	}
	slices.SortStableFunc(below, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	fmt.Fprintln(w, describe(call))
	for _, span := range below {
		fmt.Fprintln(w, "  "+describe(span))
	}
}

// describe returns a line with the attributes that matter here.
func describe(span tracetest.SpanStub) string {
	var text strings.Builder
	text.WriteString(span.Name)
	if took := span.EndTime.Sub(span.StartTime); took >= 0 { // a wait has no end, but an attribute
		fmt.Fprintf(&text, "  %s  %s", span.SpanKind, took.Round(100*time.Microsecond))
	}
	for _, kv := range span.Attributes {
		switch kv.Key {
		case "http.response.status_code", "http.request.resend_count", "error.type", "petstore.outcome_unknown",
			"petstore.wait.reason", "petstore.wait.duration":
			fmt.Fprintf(&text, "  %s=%s", kv.Key, kv.Value.String())
		}
	}
	return text.String()
}

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/bench/internal/report"
)

// The benchmarks of package fake stand beside it; here they are run, and their results taken over.

// virtualDay is the test that logs how long 24 hours of Retry-After take.
const virtualDay = "TestADayOfRetryAfterPassesInLessThanAMillisecond"

func (t tree) benchmarkFake(ctx context.Context, benchtime string) ([]report.Benchmark, error) {
	var out, errs strings.Builder
	err := runWith(ctx, t.root, &out, &errs, "go", "test", "-run", "^"+virtualDay+"$", "-v",
		"-bench", ".", "-benchmem", "-benchtime", benchtime, "./fake")
	results := append(benchmarks(out.String()), virtualDays(out.String())...)
	if len(results) == 0 { // a test that only took too long has told what we want
		return nil, fmt.Errorf("go test -bench ./fake: %w\n%s", err, errs.String())
	}
	return results, nil
}

// benchmarks reads the result lines of go test -bench.
func benchmarks(text string) []report.Benchmark {
	var results []report.Benchmark
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		if _, err := strconv.Atoi(fields[1]); err != nil {
			continue
		}
		b := report.Benchmark{Name: withoutProcs(strings.TrimPrefix(fields[0], "Benchmark"))}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				b.Metrics = append(b.Metrics, report.Metric{Value: value, Unit: fields[i+1]})
			}
		}
		results = append(results, b)
	}
	return results
}

var procs = regexp.MustCompile(`-\d+$`)

// withoutProcs drops the GOMAXPROCS that the testing package puts behind a name.
func withoutProcs(name string) string { return procs.ReplaceAllString(name, "") }

var realTime = regexp.MustCompile(`(\S+) of real time`)

func virtualDays(text string) []report.Benchmark {
	match := realTime.FindStringSubmatch(text)
	if match == nil {
		return nil
	}
	d, err := time.ParseDuration(match[1])
	if err != nil {
		return nil
	}
	metric := report.Metric{Value: float64(d.Nanoseconds()), Unit: "ns/op"}
	return []report.Benchmark{{Name: "ADayOfRetryAfter", Metrics: []report.Metric{metric}}}
}

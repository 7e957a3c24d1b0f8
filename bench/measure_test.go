package bench_test

import (
	"encoding/csv"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/bench/internal/rounds"
	"github.com/petstore/petstore-go/fake"
)

var (
	roundsFlag = flag.Int("rounds", 2, "how many rounds TestMeasure makes for each row of its table")
	outFlag    = flag.String("out", "", "the file that TestMeasure writes its rows to, as CSV; none by default")
)

// turn is the CPU time that a contender uses before it is another's turn. It is a few cycles of the
// garbage collector, and short beside what else a machine does.
const turn = 10 * time.Millisecond

// TestMeasure measures all rows of docs/benchmarks.md. bench/run runs it with enough rounds and with
// both toolchains.
func TestMeasure(t *testing.T) {
	var all [][]string
	length := turn
	if *outFlag == "" {
		length = time.Millisecond // only whether it works
	}
	add := func(what string, contenders []rounds.Contender) {
		for i, r := range rounds.Compare(contenders, *roundsFlag, length) {
			all = append(all, fields(what, contenders[i].Name, r))
			t.Logf("%-40s %-18s %.3f %.3f %.3f", what, contenders[i].Name, r.Median, r.Low, r.High)
		}
	}
	for _, via := range targets(t) {
		clients := newClients(t, via.target)
		for _, op := range []canned.Operation{canned.List20, canned.List100, canned.Create, canned.Get} {
			var contenders []rounds.Contender
			for _, c := range clients {
				contenders = append(contenders, newContender(t, c.Name, rounds.CPU, via.callers, func() error {
					_, err := c.Call(t.Context(), op)
					return err
				}))
			}
			add(via.name+" "+op.Name, contenders)
		}
	}
	add("server list20", []rounds.Contender{serverContender(t, "canned"), serverContender(t, "fake")})
	add("server start", starts(t))
	all = append(all, allocations(t)...)
	if *outFlag != "" {
		var text strings.Builder
		require.NoError(t, csv.NewWriter(&text).WriteAll(all))
		require.NoError(t, os.WriteFile(*outFlag, []byte(text.String()), 0o600))
	}
}

// target is a way to the canned responses, and how many goroutines call at a time.
type target struct {
	name    string
	target  peer.Target
	callers int
}

func targets(t *testing.T) []target {
	t.Helper()
	stub := peer.Target{BaseURL: "http://127.0.0.1/v1", Transport: canned.NewTransport()}
	tcp := peer.Target{BaseURL: startServer(t, "canned").baseURL, IdleConns: goroutines}
	return []target{{"stub", stub, 1}, {"TCP", tcp, 1}, {"TCP64", tcp, goroutines}}
}

// newContender calls f from some goroutines.
func newContender(
	t *testing.T, name string, cpu func() time.Duration, callers int, f func() error,
) rounds.Contender {
	t.Helper()
	return rounds.Contender{Name: name, CPU: cpu, Do: func(n int) { require.NoError(t, fromMany(callers, n, f), name) }}
}

// starts has servers that get a first request, and end.
func starts(t *testing.T) []rounds.Contender {
	t.Helper()
	constant, once := canned.NewHandler(), &http.Transport{DisableKeepAlives: true}
	return []rounds.Contender{
		newContender(t, "canned", rounds.CPU, 1, func() error {
			srv := httptest.NewServer(constant)
			defer srv.Close()
			return list(t, once, srv.URL+"/v1")
		}),
		newContender(t, "fake", rounds.CPU, 1, func() error {
			srv := fake.NewServer(fake.WithKey(peer.APIKey, fake.Enterprise(0, 0)))
			defer srv.Close()
			return list(t, once, srv.URL())
		}),
	}
}

// allocations counts what one call allocates, with the five of the stub.
func allocations(t *testing.T) (all [][]string) {
	t.Helper()
	for _, c := range newClients(t, peer.Target{BaseURL: "http://127.0.0.1/v1", Transport: canned.NewTransport()}) {
		for _, op := range canned.Operations() {
			n := testing.AllocsPerRun(1000, func() {
				if _, err := c.Call(t.Context(), op); err != nil && op != canned.NotFound {
					t.Error(err)
				}
			})
			all = append(all, fields("allocations "+op.Name, c.Name, rounds.Ratio{Median: n, Low: n, High: n}))
		}
	}
	return all
}

// fields returns one line of the CSV: a ratio, or a number of allocations.
func fields(what, client string, r rounds.Ratio) []string {
	number := func(x float64) string { return fmt.Sprintf("%.3f", x) }
	return []string{what, client, number(r.Median), number(r.Low), number(r.High)}
}

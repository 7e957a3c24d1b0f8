package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

// monitor is a Prometheus with the rules of alerts.yml.
type monitor struct {
	t      *testing.T
	engine *promql.Engine
	alerts []rule
	series map[string]*promql.Series
	since  map[string]time.Time // when an alert became true
	fired  []string             // the alerts that fired, in this order
	firing []string             // at each scrape, as promtool writes it
	begun  time.Time            // of the first scrape
}

func newMonitor(t *testing.T) *monitor {
	t.Helper()
	return &monitor{
		t: t, alerts: rules(t), series: make(map[string]*promql.Series),
		since:  make(map[string]time.Time),
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Hour, LookbackDelta: 5 * time.Minute}),
	}
}

// scrape stores what the registry of an instance exports now.
func (m *monitor) scrape(instance string, registry *prometheus.Registry) {
	if m.begun.IsZero() {
		m.begun = time.Now()
	}
	families, err := registry.Gather()
	require.NoError(m.t, err)
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, families...)
	require.NoError(m.t, err)
	for _, sample := range samples {
		all := map[string]string{"job": "shop", "instance": instance}
		for name, v := range sample.Metric {
			all[string(name)] = string(v)
		}
		of := labels.FromMap(all)
		if m.series[of.String()] == nil {
			m.series[of.String()] = &promql.Series{Metric: of}
		}
		s := m.series[of.String()]
		s.Floats = append(s.Floats, promql.FPoint{T: time.Now().UnixMilli(), F: float64(sample.Value)})
	}
}

// Querier implements [storage.Queryable].
func (m *monitor) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: m.choose}, nil
}

func (m *monitor) choose(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{SeriesSet: storage.EmptySeriesSet(), at: -1}
	for _, key := range slices.Sorted(maps.Keys(m.series)) {
		s := m.series[key]
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Metric.Get(m.Name)) }) {
			found.all = append(found.all, promql.NewStorageSeries(*s))
		}
	}
	return found
}

// seriesSet has the series that a query selects.
type seriesSet struct {
	storage.SeriesSet
	all []storage.Series
	at  int
}

func (s *seriesSet) Next() bool         { s.at++; return s.at < len(s.all) }
func (s *seriesSet) At() storage.Series { return s.all[s.at] }

// evaluate evaluates the alerts, and keeps the names of those that fire.
func (m *monitor) evaluate() {
	var now []string
	defer func() { m.firing = append(m.firing, strings.Join(slices.Sorted(slices.Values(now)), " ")) }()
	for _, r := range m.alerts {
		name := r.Alert
		if !m.finds(r.Expr) {
			delete(m.since, name)
			continue
		}
		if m.since[name].IsZero() {
			m.since[name] = time.Now()
		}
		if time.Since(m.since[name]) >= r.For {
			now = append(now, name)
			if !slices.Contains(m.fired, name) {
				m.fired = append(m.fired, name)
			}
		}
	}
}

// finds reports whether a query finds a number now.
func (m *monitor) finds(query string) bool {
	q, err := m.engine.NewInstantQuery(context.Background(), m, nil, query, time.Now())
	require.NoError(m.t, err, query)
	defer q.Close()
	vector, err := q.Exec(context.Background()).Vector()
	require.NoError(m.t, err, query)
	return slices.ContainsFunc(vector, func(s promql.Sample) bool { return !math.IsNaN(s.F) })
}

// promtool runs "promtool test rules" on the recorded series: in each minute, the same alerts must
// fire. The program is that in the environment variable PROMTOOL; without it, nothing is run. Its
// clock begins in 1970, so the times in closed_until are moved.
func (m *monitor) promtool() {
	program := os.Getenv("PROMTOOL")
	if program == "" {
		return
	}
	var series, tests strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m.series)) {
		values := slices.Repeat([]string{"_"}, len(m.firing))
		for _, p := range m.series[key].Floats {
			v := p.F
			if strings.Contains(key, "closed_until") {
				v -= float64(m.begun.UnixMilli()) / 1000
			}
			values[(p.T-m.begun.UnixMilli())/scrapeInterval.Milliseconds()] = strconv.FormatFloat(v, 'g', -1, 64)
		}
		fmt.Fprintf(&series, "      - {series: %q, values: %q}\n", strings.ReplaceAll(key, ", ", ","), strings.Join(values, " "))
	}
	for i := 0; i < len(m.firing); i += 4 {
		fmt.Fprintf(&tests, "      - expr: group by (alertname) (ALERTS{alertstate=\"firing\"})\n        eval_time: %ds\n        exp_samples:\n",
			i*int(scrapeInterval.Seconds()))
		for _, name := range strings.Fields(m.firing[i]) {
			fmt.Fprintf(&tests, "          - {labels: '{alertname=%q}', value: 1}\n", name)
		}
	}
	rules, err := filepath.Abs("alerts.yml")
	require.NoError(m.t, err)
	file := filepath.Join(m.t.TempDir(), "test.yml")
	text := fmt.Sprintf("rule_files: [%q]\nevaluation_interval: 15s\ntests:\n  - interval: 15s\n    input_series:\n%s    promql_expr_test:\n%s",
		rules, &series, &tests)
	require.NoError(m.t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.Command(program, "test", "rules", file).CombinedOutput()
	require.NoError(m.t, err, "%.4000s", out)
	m.t.Logf("promtool: %.100s", out)
}

package main

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"
)

// monitor is a Prometheus with the rules of alerts.yml.
type monitor struct {
	t      *testing.T
	engine *promql.Engine
	alerts []rule
	series map[string]*promql.Series
	since  map[string]time.Time // when an alert became true
	fired  map[string]bool
}

func newMonitor(t *testing.T) *monitor {
	t.Helper()
	return &monitor{
		t: t, alerts: rules(t), series: make(map[string]*promql.Series),
		since: make(map[string]time.Time), fired: make(map[string]bool),
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Hour, LookbackDelta: 5 * time.Minute}),
	}
}

// scrape stores what the registry of an instance exports now, if the instance runs.
func (m *monitor) scrape(instance string, registry *prometheus.Registry, runs bool) {
	now := time.Now().UnixMilli()
	if runs {
		families, err := registry.Gather()
		require.NoError(m.t, err)
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, families...)
		require.NoError(m.t, err)
		for _, s := range samples {
			all := map[string]string{"job": "shop", "instance": instance}
			for name, v := range s.Metric {
				all[string(name)] = string(v)
			}
			m.add(labels.FromMap(all), now, float64(s.Value))
		}
	}
	for _, s := range m.series {
		if s.Metric.Get("instance") == instance && s.Floats[len(s.Floats)-1].T != now { // it has ended
			m.add(s.Metric, now, math.Float64frombits(value.StaleNaN))
		}
	}
}

func (m *monitor) add(of labels.Labels, now int64, v float64) {
	if m.series[of.String()] == nil {
		m.series[of.String()] = &promql.Series{Metric: of}
	}
	s := m.series[of.String()]
	s.Floats = append(s.Floats, promql.FPoint{T: now, F: v})
}

// Querier implements [storage.Queryable].
func (m *monitor) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: m.choose}, nil
}

func (m *monitor) choose(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{}
	for _, key := range slices.Sorted(maps.Keys(m.series)) {
		s := m.series[key]
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Metric.Get(m.Name)) }) {
			found.rest = append(found.rest, promql.NewStorageSeries(*s))
		}
	}
	return found
}

// seriesSet implements [storage.SeriesSet].
type seriesSet struct{ at, rest []storage.Series }

func (s *seriesSet) Next() bool {
	n := min(1, len(s.rest))
	s.at, s.rest = s.rest[:n], s.rest[n:]
	return n == 1
}
func (s *seriesSet) At() storage.Series              { return s.at[0] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// evaluate evaluates the alerts, and keeps the names of those that fire.
func (m *monitor) evaluate() {
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
			m.fired[name] = true
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

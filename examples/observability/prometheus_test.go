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
}

func newMonitor(t *testing.T) *monitor {
	t.Helper()
	return &monitor{
		t: t, alerts: rules(t), series: make(map[string]*promql.Series),
		since:  make(map[string]time.Time),
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Hour, LookbackDelta: 5 * time.Minute}),
	}
}

// scrape stores what a registry exports now.
func (m *monitor) scrape(registry *prometheus.Registry) {
	families, err := registry.Gather()
	require.NoError(m.t, err)
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, families...)
	require.NoError(m.t, err)
	for _, sample := range samples {
		all := map[string]string{"job": "shop", "instance": "pod-1"}
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
	for _, r := range m.alerts {
		name := r.Alert
		if !m.finds(r.Expr) {
			delete(m.since, name)
			continue
		}
		if m.since[name].IsZero() {
			m.since[name] = time.Now()
		}
		if time.Since(m.since[name]) >= r.For && !slices.Contains(m.fired, name) {
			m.fired = append(m.fired, name)
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

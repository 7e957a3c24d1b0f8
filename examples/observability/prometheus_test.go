package main

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"
)

// scrapeInterval is how often Prometheus scrapes, and looks at its rules.
const scrapeInterval = 15 * time.Second

// scrape returns what a registry exports at this moment.
func scrape(t *testing.T, registry *prometheus.Registry) (samples []promql.Sample) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	vector, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, families...)
	require.NoError(t, err)
	for _, s := range vector {
		metric := map[string]string{}
		for name, v := range s.Metric {
			metric[string(name)] = string(v)
		}
		samples = append(samples, promql.Sample{Metric: labels.FromMap(metric), F: float64(s.Value)})
	}
	return samples
}

// database keeps what was scraped, as a Prometheus does.
type database struct {
	series map[string]*recorded
	engine *promql.Engine
}

type recorded struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func newDatabase() *database {
	return &database{make(map[string]*recorded), promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Hour, LookbackDelta: 5 * time.Minute,
	})}
}

// add keeps a scrape. A series that is not in it any more has ended.
func (db *database) add(samples []promql.Sample) {
	now := time.Now().UnixMilli()
	for _, s := range samples {
		key := s.Metric.String()
		if db.series[key] == nil {
			db.series[key] = &recorded{labels: s.Metric}
		}
		db.series[key].append(now, s.F)
	}
	for _, s := range db.series {
		if s.samples[len(s.samples)-1].T() != now {
			s.append(now, math.Float64frombits(value.StaleNaN))
		}
	}
}

func (r *recorded) append(t int64, v float64) { r.samples = append(r.samples, sample{t, v}) }

// sample implements [chunks.Sample].
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                    { return s.t }
func (s sample) F() float64                  { return s.v }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }

// finds reports whether a query finds anything at this moment.
func (db *database) finds(t *testing.T, query string) bool {
	t.Helper()
	q, err := db.engine.NewInstantQuery(t.Context(), db, nil, query, time.Now())
	require.NoError(t, err)
	defer q.Close()
	vector, err := q.Exec(t.Context()).Vector()
	require.NoError(t, err)
	return slices.ContainsFunc(vector, func(s promql.Sample) bool { return !math.IsNaN(s.F) })
}

// Querier implements [storage.Queryable].
func (db *database) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: db.selectSeries}, nil
}

func (db *database) selectSeries(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{at: -1}
	for _, key := range slices.Sorted(maps.Keys(db.series)) {
		s := db.series[key]
		if matches(s.labels, matchers) {
			set.series = append(set.series, storage.NewListSeries(s.labels, s.samples))
		}
	}
	return set
}

func matches(series labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(series.Get(m.Name)) })
}

// seriesSet implements [storage.SeriesSet].
type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series              { return s.series[s.at] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

package main

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exported returns the series that Prometheus gets from a run of the example, and those of a ban
// for a used-up day as well, which the example does not reach.
func exported(t *testing.T) (series []labels.Labels) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tel, err := startTelemetry()
		require.NoError(t, err)
		require.NoError(t, tel.record(t.Context(), io.Discard))
		for _, sample := range scrape(t, tel.registry) {
			series = append(series, sample.Metric)
			if sample.Metric.Has("petstore_rate_limit_scope") {
				series = append(series, labels.NewBuilder(sample.Metric).Set("petstore_rate_limit_scope", "day").Labels())
			}
		}
		require.NoError(t, tel.shutdown(t.Context()))
	})
	require.Greater(t, len(series), 20)
	return series
}

// faults says what keeps a query from finding anything in some series.
func faults(query string, series []labels.Labels) []string {
	query = strings.NewReplacer("$__rate_interval", "5m", "$server", ".*").Replace(query)
	expr, err := parser.ParseExpr(query)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	known := map[string]bool{} // names of labels of what the query selects
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		matching := slices.DeleteFunc(slices.Clone(series), func(s labels.Labels) bool {
			return !matches(s, selector.LabelMatchers) ||
				slices.ContainsFunc(selector.LabelMatchers, func(m *labels.Matcher) bool { return !s.Has(m.Name) })
		})
		if len(matching) == 0 {
			found = append(found, "nothing matches "+selector.String())
		}
		for _, s := range matching {
			s.Range(func(l labels.Label) { known[l.Name] = true })
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if aggregate, ok := node.(*parser.AggregateExpr); ok {
			for _, name := range aggregate.Grouping {
				if !known[name] {
					found = append(found, "no label "+name)
				}
			}
		}
		return nil
	})
	return found
}

func TestFaultsFindsWhatIsWrongWithAQuery(t *testing.T) {
	series := exported(t)
	for query, want := range map[string]string{
		"sum(": "unclosed",
		"rate(petstore_client_call_seconds_count[5m])":                     "nothing matches petstore_client_call_seconds_count",
		`petstore_client_call_duration_seconds_count{error_type="no"}`:     "nothing matches",
		`petstore_client_call_duration_seconds_count{status="429"}`:        "nothing matches",
		"sum by (operation) (petstore_client_call_duration_seconds_count)": "no label operation",
	} {
		found := faults(query, series)
		require.Len(t, found, 1, query)
		assert.Contains(t, found[0], want)
	}
}

func TestDashboardAsksForWhatIsExported(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	series := exported(t)
	all := string(text)
	for _, panel := range dashboard.Panels {
		assert.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			assert.Empty(t, faults(target.Expr, series), panel.Title)
		}
	}
	for _, s := range series {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(s.Get(labels.MetricName), "_sum"), "_count"), "_bucket")
		assert.Contains(t, all, name, "a metric without a panel")
	}
}

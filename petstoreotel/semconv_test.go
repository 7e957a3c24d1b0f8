package petstoreotel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// ours is the namespace of what the conventions do not know.
const ours = "petstore."

// registry is what the semantic conventions of the pinned version say, from the code that was
// generated of them.
type registry struct {
	types  map[attribute.Key]string          // "Enum", "string", "int"
	values map[attribute.Key]map[string]bool // of enums
	metric map[attribute.Key]bool            // attributes of http.client.request.duration
}

// required are the attributes that a span of an HTTP client must have, and those of
// http.client.request.duration.
var (
	requiredOfSpan = []attribute.Key{
		semconv.HTTPRequestMethodKey, semconv.ServerAddressKey, semconv.ServerPortKey, semconv.URLFullKey,
	}
	requiredOfMetric = []attribute.Key{semconv.HTTPRequestMethodKey, semconv.ServerAddressKey, semconv.ServerPortKey}
)

func TestSpansAndMetricsFollowTheSemanticConventions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newHarness(t), readRegistry(t)
		s.everyKind()
		spans := s.ended()
		kinds := make(map[trace.SpanKind]int)
		for _, span := range spans {
			kinds[span.SpanKind()]++
			assert.Empty(t, r.faultsOfSpan(span), span.Name())
			assert.Equal(t, semconv.SchemaURL, span.InstrumentationScope().SchemaURL)
		}
		assert.Greater(t, kinds[trace.SpanKindClient], 5)
		assert.Greater(t, kinds[trace.SpanKindInternal], 3)
		metrics := s.collect()
		require.Len(t, metrics.Metrics, 8, "all of them")
		for _, m := range metrics.Metrics {
			assert.Empty(t, r.faultsOfMetric(m), m.Name)
		}
	})
}

func TestRegistryFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := readRegistry(t)
	for want, kv := range map[string]attribute.KeyValue{
		"url.ful: not in the registry":                     attribute.String("url.ful", "x"),
		"server.port: string, not int":                     attribute.String("server.port", "80"),
		"http.request.method: get is no value of the enum": attribute.String("http.request.method", "get"),
		"http.method: not in the registry":                 attribute.String("http.method", "GET"),
	} {
		assert.Equal(t, []string{want}, r.faults(kv))
	}
	bare := metricdata.Metrics{Name: "http.client.request.duration", Data: metricdata.Histogram[float64]{
		DataPoints: []metricdata.HistogramDataPoint[float64]{{Attributes: attribute.NewSet(
			semconv.URLFull("https://service.test/"), semconv.ServerAddress("service.test"), semconv.HTTPRequestMethodGet,
		)}},
	}}
	assert.ElementsMatch(t, []string{
		"has the unit ", "has the description ", "url.full: none of the metric's", "server.port: is missing",
	}, r.faultsOfMetric(bare))
	assert.Equal(t, []string{"not in the registry"}, r.faultsOfMetric(metricdata.Metrics{Name: "http.client.calls"}))
}

// everyKind makes calls and requests of every kind.
func (s *harness) everyKind() {
	s.t.Helper()
	ctx := s.t.Context()
	_, err := s.client.ListPets(ctx, petstore.ListPetsParams{Limit: 3, Status: petstore.PetStatusSold})
	require.NoError(s.t, err)
	for _, fault := range []fake.Fault{
		{Status: 429, RetryAfter: "7"},
		{Status: 400},
		{Status: 503},
		{Status: 307},
		{Wire: fake.WireReset},
		{Wire: fake.WireTruncate},
		{Status: 429, RetryAfter: "9000"},
	} {
		s.server.Inject(fault)
		_, _ = s.client.CreatePet(ctx, petstore.NewPet{Name: "Rex"})
	}
	_, err = s.client.GetPet(ctx, 12) //nolint:staticcheck // the operation with an id in its path
	require.ErrorIs(s.t, err, petstore.ErrRateLimited)
	other := s.newClient(roundTripper(s.base().RoundTrip), petstore.WithLimiter(petstore.NewLimiter()))
	_, err = other.GetPet(ctx, 12) //nolint:staticcheck // the operation with an id in its path
	require.ErrorIs(s.t, err, petstore.ErrNotFound)
}

func (r *registry) faultsOfSpan(span sdktrace.ReadOnlySpan) []string {
	faults := r.faults(span.Attributes()...)
	for _, event := range span.Events() {
		faults = append(faults, r.faults(event.Attributes...)...)
	}
	if span.SpanKind() == trace.SpanKindClient {
		faults = append(faults, missing(set(span), requiredOfSpan)...)
	}
	return faults
}

func (r *registry) faultsOfMetric(m metricdata.Metrics) (faults []string) {
	own := strings.HasPrefix(m.Name, ours)
	if !own {
		if m.Name != (httpconv.ClientRequestDuration{}).Name() {
			return []string{"not in the registry"}
		}
		if want := (httpconv.ClientRequestDuration{}); m.Unit != want.Unit() || m.Description != want.Description() {
			faults = append(faults, "has the unit "+m.Unit, "has the description "+m.Description)
		}
	}
	for attributes := range attributesOf(m.Data) {
		faults = append(faults, r.faults(attributes.ToSlice()...)...)
		if own {
			continue
		}
		faults = append(faults, missing(attributes, requiredOfMetric)...)
		for _, kv := range attributes.ToSlice() {
			if !r.metric[kv.Key] {
				faults = append(faults, string(kv.Key)+": none of the metric's")
			}
		}
	}
	return faults
}

// faults says what the registry has against some attributes.
func (r *registry) faults(attributes ...attribute.KeyValue) (faults []string) {
	for _, kv := range attributes {
		if strings.HasPrefix(string(kv.Key), ours) {
			continue
		}
		want, known := r.types[kv.Key]
		is := map[attribute.Type]string{
			attribute.STRING: "string", attribute.INT64: "int", attribute.FLOAT64: "double", attribute.BOOL: "boolean",
		}[kv.Value.Type()]
		text := kv.Value.String()
		_, err := strconv.Atoi(text)
		switch {
		case !known:
			faults = append(faults, string(kv.Key)+": not in the registry")
		case want == "Enum" && !r.values[kv.Key][text] && kv.Key != semconv.ErrorTypeKey:
			faults = append(faults, string(kv.Key)+": "+text+" is no value of the enum")
		case want == "Enum" && is != "string" || want != "Enum" && is != want:
			faults = append(faults, string(kv.Key)+": "+is+", not "+want)
		case kv.Key == semconv.ErrorTypeKey && err != nil && !regexp.MustCompile(`^[\w.*]+$`).MatchString(text):
			faults = append(faults, "error.type: "+text+" is no class")
		}
	}
	return faults
}

func missing(attributes attribute.Set, required []attribute.Key) (faults []string) {
	for _, key := range required {
		if !attributes.HasValue(key) {
			faults = append(faults, string(key)+": is missing")
		}
	}
	return faults
}

// readRegistry reads the attributes, their types and their values from the pinned version's
// package.
func readRegistry(t *testing.T) *registry {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}",
		"go.opentelemetry.io/otel/semconv/v1.43.0").Output()
	require.NoError(t, err)
	dir := strings.TrimSpace(string(out))
	r := &registry{
		types:  make(map[attribute.Key]string),
		values: make(map[attribute.Key]map[string]bool),
		metric: make(map[attribute.Key]bool),
	}
	r.readAttributes(t, filepath.Join(dir, "attribute_group.go"))
	r.readMetric(t, filepath.Join(dir, "httpconv", "metric.go"))
	require.Greater(t, len(r.types), 500)
	require.Greater(t, len(r.metric), 5)
	return r
}

func (r *registry) readAttributes(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	require.NoError(t, err)
	typeLine := regexp.MustCompile(`(?m)^Type: (\S+)`)
	keys := make(map[string]attribute.Key) // by the name of the constant
	for _, spec := range valuesOf(file) {
		call, ok := spec.Values[0].(*ast.CallExpr)
		if !ok {
			continue
		}
		literal, ok := call.Args[0].(*ast.BasicLit)
		selector, isSelector := call.Fun.(*ast.SelectorExpr)
		if !ok || !isSelector || literal.Kind != token.STRING {
			continue
		}
		text, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		switch of := selector.X.(*ast.Ident).Name; {
		case of == "attribute":
			key := attribute.Key(text)
			keys[spec.Names[0].Name] = key
			if found := typeLine.FindStringSubmatch(spec.Doc.Text()); found != nil {
				r.types[key] = found[1]
			}
		default: // an enum's value: XKey.String("…")
			key := keys[of]
			if r.values[key] == nil {
				r.values[key] = make(map[string]bool)
			}
			r.values[key][text] = true
		}
	}
}

// readMetric reads which attributes http.client.request.duration may have: the parameters of
// Record, and those that its Attr methods make.
func (r *registry) readMetric(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		method, ok := decl.(*ast.FuncDecl)
		if !ok || method.Recv == nil {
			continue
		}
		receiver, ok := method.Recv.List[0].Type.(*ast.Ident)
		if !ok || receiver.Name != "ClientRequestDuration" ||
			method.Name.Name != "Record" && !strings.HasPrefix(method.Name.Name, "Attr") {
			continue
		}
		ast.Inspect(method.Body, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				r.metric[attribute.Key(text)] = true
			}
			return true
		})
	}
}

// valuesOf are the constants and variables of a file that have a value.
func valuesOf(file *ast.File) (specs []*ast.ValueSpec) {
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok && len(value.Values) == 1 {
				specs = append(specs, value)
			}
		}
	}
	return specs
}

package spec

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseFaults(t *testing.T) {
	for text, want := range map[string]fake.Fault{
		"status=503,operation=createPet,times=2,after-commit":                    {Status: 503, Operation: petstore.OpCreatePet, Times: 2, AfterCommit: true},
		`status=429, retry-after="Fri, 31 Dec 2032 23:59:59 GMT", times=forever`: {Status: 429, RetryAfter: "Fri, 31 Dec 2032 23:59:59 GMT", Times: fake.Forever},
		"delay=1m30s,skip=3,chance=0.25,key=a-key,after-commit=false,for=1h":     {Delay: 90 * time.Second, Skip: 3, Chance: 0.25, APIKey: "a-key", For: time.Hour},
		`status=418,code=teapot,message="no, thanks; \"really\"",drip=5s`:        {Status: 418, Code: "teapot", Message: `no, thanks; "really"`, Drip: 5 * time.Second},
		`header=X-One: 1,header="X-One: 2, 3",header=x-ratelimit-limit,body=`:    {Header: http.Header{"X-One": {"1", "2, 3"}, "X-Ratelimit-Limit": nil}, Body: []byte{}},
		`body="[{\"id\":1}]"`:       {Body: []byte(`[{"id":1}]`)},
		"status=500,times=1,for=1h": {Status: 500, Times: 1, For: time.Hour}, // without times it is all requests of the hour
	} {
		faults, err := ParseFaults(text)
		require.NoError(t, err, text)
		assert.Equal(t, []fake.Fault{want}, faults, text)
		faults, err = ParseFaults(FormatFault(want))
		require.NoError(t, err)
		assert.Equal(t, want, faults[0], FormatFault(want))
	}
	for _, w := range fake.Wire("").Values() {
		faults, err := ParseFaults("wire=" + string(w))
		require.NoError(t, err)
		assert.Equal(t, w, faults[0].Wire)
	}
	faults, err := ParseFaults(`status=500 ; message="a;b",status=501; wire=close;`)
	require.NoError(t, err)
	assert.Equal(t, []fake.Fault{{Status: 500}, {Status: 501, Message: "a;b"}, {Wire: fake.WireClose}}, faults)
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{"1970-01-01T00:00:02Z": 2, "1970-01-01T00:01": 60, "1970-01-01T02:00:00+01:00": 3600} {
		got, err := ParseTime(text)
		require.NoError(t, err)
		assert.Equal(t, want, got.Unix(), text)
	}
	for _, text := range []string{"", "today", "1969-12-31T23:59:59Z", "2292-01-01T00:00:00Z"} {
		_, err := ParseTime(text)
		assert.ErrorContains(t, err, "a time from 1970 to 2291", text)
	}
}

func TestParseFaults_wrong(t *testing.T) {
	for text, want := range map[string]string{
		"": "a field is missing", "status=503,": "a field is missing", "status=503;;wire=reset": "a field is missing",
		"statsu=503": `"statsu"`, "status": "status", "status=99": "between 200 and 999", "status=500,status=501": "status is given twice",
		"operation=noSuchOperation": "operation", "skip=1.5": "skip", "times=0": "times", "times=often": "times",
		"chance=0": "chance", "chance=1.1": "chance", "chance=NaN": "chance", "delay=5": "delay", "delay=-5s": "delay",
		"after-commit=perhaps": "after-commit", "wire=no-such-wire": "wire", "header=X Y: 1": "header", "header=": "header",
		`message="open`: "message", `message="\q"`: "message", `message="closed" again`: "message", `{"status":503}`: "not JSON",
	} {
		_, err := ParseFaults(text)
		if assert.ErrorContains(t, err, want, text) {
			assert.Equal(t, 0, strings.Count(err.Error(), "\n"))
		}
	}
}

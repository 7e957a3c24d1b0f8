package requestpage

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

func TestDescribeFault(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]fake.Fault{
		"any request: status 503; the next one":                           {Status: 503},
		"createPet: connection reset; the next 3, after the first 2":      {Operation: "createPet", Wire: fake.WireReset, Times: 3, Skip: 2},
		"any request: delayed by 1s; each with a chance of 3 %":           {Delay: time.Second, Chance: 0.03, Times: fake.Forever},
		"any request: status 500; each with a chance of 7 %, 1 at most":   {Status: 500, Chance: 0.07},
		"any request: status 500; all of them, for 1 min 30 s":            {Status: 500, Chance: 1, Times: fake.Forever, For: 90 * time.Second},
		"any request with the key ope…: status 500, code x; the next one": {APIKey: "operator-secret", Status: 500, Code: "x"},
		"any request: no header Date; the next one":                       {Header: http.Header{"Date": nil}},
	} {
		got := describeFault(f)
		assert.Equal(t, want, got)
	}
}

package petstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/redact"
)

const slashedKey = "c2Vj+cmV0/a2V5=="

func TestBodyStart(t *testing.T) {
	var escaped strings.Builder
	for _, c := range []byte(slashedKey) {
		fmt.Fprintf(&escaped, `\u%04x`, c)
	}
	for _, form := range []string{slashedKey, escaped.String()} {
		for before := maxErrorBody - len(form) - 1; before <= maxErrorBody+1; before++ {
			body := strings.Repeat(".", before) + form + strings.Repeat(form, 100)
			a := attempt{body: []byte(body), key: credential.New(slashedKey)}
			start := string(a.bodyStart())
			assert.LessOrEqual(t, len(start), maxErrorBody)
			clean := strings.Repeat(".", before) + strings.Repeat(redact.Mark, 101)
			assert.True(t, strings.HasPrefix(clean, start), "%d: %s", before, strings.Trim(start, "."))
		}
	}
}

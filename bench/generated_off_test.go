//go:build !ogen

package bench_test

import "net/http"

func generated(http.RoundTripper) []client { return nil }

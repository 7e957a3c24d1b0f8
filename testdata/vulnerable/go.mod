// The control of the vulnerability check: a program that calls what GO-2024-2947 is about, so that a check
// which finds nothing here is known to be blind.
module vulnerable.example

go 1.26.0

require github.com/hashicorp/go-retryablehttp v0.7.6

require github.com/hashicorp/go-cleanhttp v0.5.2 // indirect

// Package bench compares the client of this repository with other ways to call the service. The
// script run measures and writes ../docs/benchmarks.md, which explains it.
package bench

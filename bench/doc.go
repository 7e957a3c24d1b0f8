// Package bench holds benchmarks that compare the client of this repository with other ways to call
// the service. The script run measures everything, with the generated clients compiled in and the
// rounds of two Go toolchains interleaved; ../docs/benchmarks.md explains the results.
package bench

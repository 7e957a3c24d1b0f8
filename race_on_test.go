//go:build race

package petstore

// racing is whether the race detector runs, which makes long tests ten times slower.
const racing = true

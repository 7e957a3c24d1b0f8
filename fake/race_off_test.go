//go:build !race

package fake_test

// raceAllowance is by how much the race detector slows a test down.
const raceAllowance = 1

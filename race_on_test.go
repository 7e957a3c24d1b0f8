//go:build race

package petstore

// racing tells tests that have much to do that they run under the race detector, ten times slower.
const racing = true

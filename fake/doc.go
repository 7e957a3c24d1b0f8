// Package fake is the Pet Store Service in memory, for tests.
package fake

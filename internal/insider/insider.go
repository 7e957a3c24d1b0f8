// Package insider keeps a function for the packages of this module, where Go has no visibility
// between one package and everybody: its parameter is a Pass, which no other module can name.
package insider

// Pass is what the caller of such a function shows.
type Pass struct{}

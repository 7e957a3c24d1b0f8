// Package tools pins the programs that check this repository. They have a module of their own, so
// that they stay out of the module graph of programs that import the client.
package tools

//go:build generated

package peer

// generated returns the client made of generated code.
func generated() []Peer { return []Peer{{"ogen", newOgen}} }

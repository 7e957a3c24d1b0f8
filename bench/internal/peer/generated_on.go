//go:build generated

package peer

// generated returns the clients made of generated code.
func generated() []Peer { return []Peer{{"oapi-codegen", newOAPI}, {"ogen", newOgen}} }

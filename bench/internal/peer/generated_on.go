//go:build generated

package peer

// generated are the clients made of generated code.
func generated() []Peer {
	return []Peer{
		{"oapi-codegen", "github.com/oapi-codegen/oapi-codegen/v2", newOAPI},
		{"ogen", "github.com/ogen-go/ogen", newOgen},
	}
}

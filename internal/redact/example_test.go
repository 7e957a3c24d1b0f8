package redact_test

import (
	"fmt"

	"github.com/petstore/petstore-go/internal/redact"
)

// The key is removed from a text in which it is also escaped for JSON.
func Example() {
	fmt.Println(redact.Text(`no such key: "sk-12345678", sent as "sk\u002d12345678"`, "sk-12345678"))
	// Output: no such key: "[redacted]", sent as "[redacted]"
}

// Package caller calls the deprecated operation: staticcheck must report it (SA1019).
package caller

import (
	"context"

	petstore "github.com/petstore/petstore-go"
)

// Call is here to be reported.
func Call(ctx context.Context, client *petstore.Client) error {
	_, err := client.GetPet(ctx, 1)
	return err
}

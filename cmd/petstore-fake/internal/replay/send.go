package replay

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// longest bounds a request that is sent again, which a fault may let wait without an end.
const longest = time.Minute

// Send sends a request again to its fake, with the key it came with. It does not wait for the
// response; closing the fake ends it.
func Send(srv *fakecontrol.Server, origin string, r fake.Request) error {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	again, err := http.NewRequestWithContext(ctx, r.Method, origin+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		cancel()
		return errors.New("this request cannot be sent again: its method or its path is none of HTTP")
	}
	again.Header = r.Header.Clone()
	for _, k := range srv.Keys() {
		if k.Number == r.Key {
			again.Header.Set("Authorization", "Bearer "+k.APIKey)
		}
	}
	go func() {
		defer cancel()
		resp, err := srv.HTTPClient().Transport.RoundTrip(again) // follows no redirect
		if err == nil {                                          // or a fault has broken it, which the journal shows
			_ = resp.Body.Close()
		}
	}()
	return nil
}

package conformance

import (
	"fmt"
	"mime"
	"net/url"
	"strings"
)

// baseClauses are those of sections 1 and 9.
func baseClauses() []clause {
	return []clause{
		{"9", "the base address ends in /v1", baseAddress},
		{"4.1", "an empty list is an array", emptyList},
		{"1", "bodies of successes are application/json", successMedia},
	}
}

func baseAddress(s *session) error {
	base, err := url.Parse(s.target.BaseURL)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(base.Path, "/v1") {
		return fmt.Errorf("the path of the base address is %q", base.Path)
	}
	return nil
}

// successMedia looks at one success of each operation.
func successMedia(s *session) error {
	if err := s.samples(); err != nil {
		return err
	}
	for _, x := range s.log {
		if x.success() && !isJSON(x) {
			return x.errorf("the Content-Type must be application/json and is %q", x.header.Get("Content-Type"))
		}
	}
	return nil
}

// isJSON takes parameters such as charset for what they are.
func isJSON(x *exchange) bool {
	media, _, err := mime.ParseMediaType(x.header.Get("Content-Type"))
	return err == nil && media == mediaJSON
}

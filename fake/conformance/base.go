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

func baseAddress(s *session) {
	base, err := url.Parse(s.target.BaseURL)
	if err == nil && !strings.HasSuffix(base.Path, "/v1") {
		err = fmt.Errorf("the path of the base address is %q", base.Path)
	}
	if err != nil {
		fail(err)
	}
}

// successMedia looks at one success of each operation.
func successMedia(s *session) {
	s.samples()
	for _, x := range s.log {
		if x.success() {
			x.wantJSON()
		}
	}
}

// wantJSON fails unless the media type is JSON; it may have parameters, such as charset.
func (x *exchange) wantJSON() {
	value := x.header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(value); err != nil || media != mediaJSON {
		x.failf("the Content-Type must be application/json and is %q", value)
	}
}

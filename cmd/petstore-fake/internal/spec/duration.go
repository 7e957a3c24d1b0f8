package spec

import (
	"fmt"
	"time"
)

// ParseDuration reads a duration that is not negative.
func ParseDuration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration, such as 50ms or 1h30m", v)
	case d < 0:
		return 0, fmt.Errorf("%s is negative", v)
	}
	return d, nil
}

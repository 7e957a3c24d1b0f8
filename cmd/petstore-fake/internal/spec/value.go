package spec

import (
	"fmt"
	"time"
)

// ParseTime reads a time of RFC 3339, such as 2030-12-05T00:00:00Z.
func ParseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%q is not a time such as 2030-12-05T00:00:00Z", Clip(text))
	}
	return t, CheckTime(t)
}

// The years that the fake's clock can show: its limits are Unix timestamps from 1970 on, and later
// times are further from the machine's clock than a [time.Duration] reaches.
const (
	firstYear = 1970
	lastYear  = 2291
)

// CheckTime returns an error for a time that the fake's clock cannot show.
func CheckTime(t time.Time) error {
	if year := t.UTC().Year(); year < firstYear || year > lastYear {
		return fmt.Errorf("the year %d is not between %d and %d", year, firstYear, lastYear)
	}
	return nil
}

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

// Package spec reads what users write, on the command line and in the bodies of admin requests:
// addresses, durations, plans, faults, behaviours, pets and JSON. Its errors name the field and the
// reason, and never repeat an API key.
package spec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseBool reads a truth value as [strconv.ParseBool] does.
func ParseBool(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", Clip(text))
	}
	return on, nil
}

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
		return 0, fmt.Errorf("%q is not a duration, such as 50ms or 1h30m", Clip(v))
	case d < 0:
		return 0, fmt.Errorf("%s is negative", v)
	}
	return d, nil
}

// plain removes the prefix of an error of package fake, such as "fake: ParsePlan: ", which means
// nothing to users of the program.
func plain(err error) error {
	if err == nil {
		return nil
	}
	if text, ours := strings.CutPrefix(err.Error(), "fake: "); ours {
		_, reason, _ := strings.Cut(text, ": ")
		return errors.New(reason)
	}
	return err
}

// maxClip is how many bytes of a given text an error repeats: enough to recognize it, and one line.
const maxClip = 64

// Clip returns a text for an error message, shortened if it is long.
func Clip(s string) string { return Shorten(s, maxClip) }

// Shorten cuts a text that has more bytes, between two characters.
func Shorten(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

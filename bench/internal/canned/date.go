package canned

import (
	"net/http"
	"sync/atomic"
	"time"
)

// date is the value of the Date header, made once a second, as in a server of net/http. A date that stood still
// would be a clock gone wrong to a client that compares it with its own.
type date struct{ last atomic.Pointer[stamp] }

type stamp struct {
	second int64
	text   string
}

func (d *date) now() string {
	now := time.Now()
	if last := d.last.Load(); last != nil && last.second == now.Unix() {
		return last.text
	}
	next := &stamp{now.Unix(), now.UTC().Format(http.TimeFormat)}
	d.last.Store(next)
	return next.text
}

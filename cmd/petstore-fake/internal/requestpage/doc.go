// Package requestpage shows the journal of a fake: as a page for a browser, as a stream of events
// that keeps the page up to date, as JSON, as an HTTP archive (HAR), and as commands for curl.
package requestpage

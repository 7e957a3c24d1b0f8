package petstoreredis

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed script/*.lua
var scripts embed.FS

// script is the shared budget: it runs in Redis, one call at a time.
var script = redis.NewScript(source())

// source puts the files of the script together, each of which uses what those before it define.
func source() string {
	var b strings.Builder
	for _, name := range []string{"state", "readings", "others", "window", "ahead", "closure", "leases", "grants", "exchange"} {
		text, err := scripts.ReadFile("script/" + name + ".lua")
		if err != nil {
			panic(err) // the list and the folder differ
		}
		b.Write(text)
	}
	return b.String()
}

// command is what a party says to the script. Times are milliseconds.
type command struct {
	ID       string   `json:"id"`
	Seq      int      `json:"seq"`
	Lease    int64    `json:"lease"`
	Holding  int      `json:"holding"` // permits not used yet, and requests on their way
	First    int      `json:"ahead"`   // those among them that go ahead of the others
	Want     int      `json:"want"`
	Reports  []report `json:"reports,omitempty"`
	Memory   *memory  `json:"memory,omitempty"`
	Reopen   bool     `json:"reopen"`   // one request is to ask the service, closed or not
	Instance string   `json:"instance"` // of the state that the process heard of last
	Commands int      `json:"commands"` // that there had been then
	At       int64    `json:"at"`       // when the last of them was, by the clock of Redis

	reports []report // Reports as they were made
}

// memory is what the party knows, for the case that Redis has lost it.
type memory struct {
	Window *report `json:"window,omitempty"`
	Gate   int64   `json:"gate"`
	Scope  string  `json:"scope"`
	Closed int64   `json:"closed"` // how long ago the gate was closed
}

// reply is what the script says to a party. Times are milliseconds from now.
type reply struct {
	Stale bool `json:"stale"` // a later command of the party has overtaken this one
	slot
	Granted     int    `json:"granted"`
	Reason      string `json:"reason"` // what there is to wait for if nothing is granted
	Wait        int64  `json:"wait"`   // in how long to ask again
	Limit       int    `json:"limit"`
	Left        int    `json:"left"`
	Taken       int    `json:"taken"` // of this window, by the party
	Outstanding int    `json:"outstanding"`
	Shown       int64  `json:"shown"` // Reset as it came
	Day         bool   `json:"day"`
	Ends        int64  `json:"ends"`
	Unsure      bool   `json:"unsure"` // nothing known covers another request
	Gate        int64  `json:"gate"`
	Scope       string `json:"scope"`
	Closed      int64  `json:"closed"` // how long ago the gate was closed
	Processes   int    `json:"processes"`
	Waiting     int    `json:"waiting"`  // parties that want what there is not
	Commands    int    `json:"commands"` // so far
	At          int64  `json:"at"`       // when this one was, by the clock of Redis
	Repaired    bool   `json:"repaired"` // the state could not be read, and has begun afresh
}

// store runs the script.
type store struct {
	client redis.UniversalClient
	keys   []string
}

// newStore names the keys of a budget so that a cluster keeps them in one slot.
func newStore(client redis.UniversalClient, prefix, hash string) store {
	base := prefix + "{" + hash + "}:"
	return store{client, []string{base + "state", base + "leases", base + "held", base + "queue"}}
}

// exchange sends a command. The first one of a process brings the script along, which takes one round trip less than
// to hear first that Redis does not have it.
func (s store) exchange(ctx context.Context, c command) (r reply, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return r, err
	}
	run := script.Run
	if c.Commands == 0 {
		run = script.Eval
	}
	answer, err := run(ctx, s.client, s.keys, text).Text()
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(answer), &r); err != nil {
		return r, fmt.Errorf("answer of the script: %w", err)
	}
	return r, nil
}

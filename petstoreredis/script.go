package petstoreredis

import (
	"context"
	"crypto/fips140"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed script/*.lua
var scripts embed.FS

// source puts the files of the script together, each of which uses what those before it define.
func source() string {
	var b strings.Builder
	for name := range strings.FieldsSeq("state samples others window probe closure leases grants exchange") {
		text, err := scripts.ReadFile("script/" + name + ".lua")
		if err != nil {
			panic(err) // the list and the folder differ
		}
		b.Write(text)
	}
	return b.String()
}

// store runs the script, which has the shared budget: Redis runs one command at a time.
type store struct {
	client redis.UniversalClient
	script *redis.Script
	keys   []string
}

// stateForm is the number of the form that the script gives the state. It is in the names of the
// keys, so that processes of two versions, as during an update, do not destroy each other's state:
// they share the budget as two fleets that do not know of each other.
const stateForm = "2"

// newStore names the keys of a budget so that a cluster keeps them in one slot.
func newStore(client redis.UniversalClient, prefix, hash string) store {
	base := prefix + "{" + hash + "}:" + stateForm + ":"
	s := store{client: client, keys: []string{base + "state", base + "leases", base + "held", base + "queue"}}
	// Redis knows a script by its SHA-1, which protects nothing, so that a process in FIPS-only mode
	// may compute it.
	fips140.WithoutEnforcement(func() { s.script = redis.NewScript(source()) })
	return s
}

// exchange sends a command. The first one of a process brings the script along, which takes one
// round trip less than to hear first that Redis does not have it.
func (s store) exchange(ctx context.Context, c command) (r reply, err error) {
	argument, err := json.Marshal(c)
	if err != nil {
		return r, err
	}
	run := s.script.Run
	if c.Commands == 0 {
		run = s.script.Eval
	}
	text, err := run(ctx, s.client, s.keys, argument).Text()
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("reply of the script: %w", err)
	}
	if problem := r.problem(c.Want); problem != "" && !r.Stale {
		return r, errors.New("reply of the script: " + problem)
	}
	return r, nil
}

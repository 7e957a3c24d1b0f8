package spec

import (
	"errors"
	"strings"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// Key is an API key with its plan.
type Key struct {
	// Key is the key itself. Plan is nil if no plan was given.
	Key  string
	Plan *fake.Plan
}

// ParseKeys reads keys separated by spaces, each as KEY or KEY=PLAN. A key may end in =, as base64
// does. No error repeats a key.
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	for word := range strings.FieldsSeq(text) {
		k := Key{Key: word}
		if i := strings.LastIndexByte(word, '='); i > 0 && i < len(word)-1 {
			plan, err := fakecontrol.ParsePlan(word[i+1:])
			if err != nil {
				return nil, errors.New("the text behind = is not a plan; a plan is " + fakecontrol.PlanNames() +
					", and a key that has = within needs one: KEY=PLAN")
			}
			k = Key{word[:i], &plan}
		}
		if err := CheckKey(k.Key); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errKey
	}
	return keys, nil
}

var errKey = errors.New("a key must be non-empty printable ASCII without spaces")

// CheckKey returns an error if no Authorization header can carry a key. It does not repeat the key.
func CheckKey(key string) error {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errKey
	}
	return nil
}

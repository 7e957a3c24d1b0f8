package spec

import (
	"errors"
	"strings"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/credential"
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
func ParseKeys(text string) (keys []Key, err error) {
	for word := range strings.FieldsSeq(text) {
		k := Key{Key: word}
		if i := strings.LastIndexByte(word, '='); i > 0 && i < len(word)-1 {
			plan, err := fakecontrol.ParsePlan(word[i+1:])
			if err != nil {
				return nil, errors.New("the text behind = is not a plan, which is " + fakecontrol.PlanNames() + ": KEY=PLAN")
			}
			k = Key{word[:i], &plan}
		}
		if err := CheckKey(k.Key); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if keys == nil {
		err = CheckKey("")
	}
	return keys, err
}

// CheckKey returns an error for a key that the client would refuse, too. It does not repeat the key.
func CheckKey(key string) error {
	if problem := credential.KeyProblem(key); problem != "" {
		return errors.New("the key " + problem)
	}
	return nil
}

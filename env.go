package petstore

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// The variables of the environment that NewClientFromEnv reads.
const (
	envBaseURL    = "PETSTORE_BASE_URL"
	envAPIKey     = "PETSTORE_API_KEY"
	envAPIKeyFile = "PETSTORE_API_KEY_FILE"
	envInsecure   = "PETSTORE_INSECURE_HTTP"
	envProcesses  = "PETSTORE_PROCESSES"
)

// NewClientFromEnv is [NewClient] with the base URL from PETSTORE_BASE_URL and the key from
// PETSTORE_API_KEY, or from the file at PETSTORE_API_KEY_FILE, which [APIKeyFile] reads again for
// each request. It is an error to set both variables of the key, or one of them and
// [WithAPIKeyFunc]. Each error matches [ErrInvalidArgument] and names the variable, but never
// repeats its value.
//
// PETSTORE_PROCESSES is the number of processes that use the key, this one included: it has the
// effect of [WithProcesses], unless opts have a [WithLimiter].
//
// PETSTORE_INSECURE_HTTP=1 has the effect of [WithInsecureHTTP], for tests: the key is then sent
// unencrypted.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	opts = slices.Concat(optionsFromEnv(), opts, []Option{keyFileFromEnv{}})
	client, err := NewClient(os.Getenv(envBaseURL), os.Getenv(envAPIKey), opts...)
	if wrong, ok := errors.AsType[*ArgumentError](err); ok {
		variables := map[string]string{"baseURL": envBaseURL, "apiKey": envAPIKey}
		wrong.Argument = cmp.Or(variables[wrong.Argument], wrong.Argument)
	}
	return client, err
}

// optionsFromEnv returns the options for the variables that have the effect of options and are set.
func optionsFromEnv() (opts []Option) {
	if text := os.Getenv(envProcesses); text != "" {
		n, err := strconv.Atoi(text)
		problem := safetext.If(err != nil || n < 1, "is not a number of processes")
		opts = append(opts, perClient(envProcesses, problem, func(c *config) {
			c.limiter = ratelimit.New(ratelimit.Processes(n))
		}))
	}
	if text := os.Getenv(envInsecure); text != "" {
		problem := safetext.If(text != "0" && text != "1", "is neither 0 nor 1")
		opts = append(opts, shared(envInsecure, problem, func(c *config) { c.insecureHTTP = text == "1" }))
	}
	return opts
}

// keyFileFromEnv is the last option of NewClientFromEnv: it knows whether another one set the
// function for the key. It reads the file once, so that a wrong one is reported early.
type keyFileFromEnv struct{}

func (keyFileFromEnv) apply(opName string, c *config) error {
	key, file, problem := os.Getenv(envAPIKey), os.Getenv(envAPIKeyFile), ""
	switch {
	case file == "" && key == "" && c.keyFunc == nil:
		return &ArgumentError{opName, envAPIKey, "is not set, nor is " + envAPIKeyFile}
	case file == "":
		return nil
	case key != "":
		problem = "is set although " + envAPIKey + " is set"
	case c.keyFunc != nil:
		problem = "is set although WithAPIKeyFunc is used"
	default:
		c.keyFunc = APIKeyFile(file)
		if _, err := credential.From(context.Background(), c.keyFunc); err != nil {
			_, problem, _ = strings.Cut(err.Error(), ": ")
		}
	}
	if problem != "" {
		return &ArgumentError{opName, envAPIKeyFile, problem}
	}
	return nil
}

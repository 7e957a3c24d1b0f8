package petstore

import (
	"context"
	"os"
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
	c, err := newConfig(append(optionsFromEnv(), opts...))
	if err != nil {
		return nil, err
	}
	apiKey, err := apiKeyFromEnv(c)
	if err != nil {
		return nil, err
	}
	return newClient(argument{envBaseURL, os.Getenv(envBaseURL)}, apiKey, c)
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

// apiKeyFromEnv returns the key. For a key file, it sets the function of c instead, and reads the
// file once, so that a wrong one is reported early.
func apiKeyFromEnv(c *config) (argument, error) {
	key, file := argument{envAPIKey, os.Getenv(envAPIKey)}, os.Getenv(envAPIKeyFile)
	problem := ""
	switch {
	case file == "" && key.value == "" && c.keyFunc == nil:
		return key, &ArgumentError{"NewClient", envAPIKey, "is not set, nor is " + envAPIKeyFile}
	case file == "":
		return key, nil
	case key.value != "":
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
		return key, &ArgumentError{"NewClient", envAPIKeyFile, problem}
	}
	return key, nil
}

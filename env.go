package petstore

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/internal/credential"
)

// The variables of the environment that NewClientFromEnv reads.
const (
	envBaseURL    = "PETSTORE_BASE_URL"
	envAPIKey     = "PETSTORE_API_KEY"
	envAPIKeyFile = "PETSTORE_API_KEY_FILE"
	envInsecure   = "PETSTORE_INSECURE_HTTP"
	envProcesses  = "PETSTORE_PROCESSES"
)

// NewClientFromEnv calls [NewClient] with the base URL from PETSTORE_BASE_URL and the key from
// PETSTORE_API_KEY. Instead of the key, PETSTORE_API_KEY_FILE may have the path of a file with the
// key; [APIKeyFile] reads the file again before each attempt. It is an error to set both variables
// of the key, or one of them and [WithAPIKeyFunc]. Each error matches [ErrInvalidArgument]. An
// error about a variable has its name, but never its value.
//
// PETSTORE_PROCESSES is the number of processes that use the key, this one included. It has the
// effect of [WithProcesses], unless opts have a [WithProcesses] or a [WithLimiter].
//
// PETSTORE_INSECURE_HTTP=1 acts as [WithInsecureHTTP], for tests: it sends the key unencrypted.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	var all []Option
	if processes := os.Getenv(envProcesses); processes != "" {
		n, err := strconv.Atoi(processes)
		if err != nil || n < 1 {
			return nil, &ArgumentError{"NewClient", envProcesses, "is not a number of processes"}
		}
		all = append(all, WithProcesses(n)) // first, so that others replace its limiter
	}
	all = append(append(all, opts...), fromEnv{})
	client, err := NewClient(os.Getenv(envBaseURL), os.Getenv(envAPIKey), all...)
	if wrong, ok := errors.AsType[*ArgumentError](err); ok {
		variables := map[string]string{"baseURL": envBaseURL, "apiKey": envAPIKey}
		wrong.Argument = cmp.Or(variables[wrong.Argument], wrong.Argument)
	}
	return client, err
}

// fromEnv is an option. NewClientFromEnv puts it last, so that it knows what the others have set.
type fromEnv struct{}

func (fromEnv) apply(opName string, c *config) error {
	insecure := os.Getenv(envInsecure)
	if insecure != "" && insecure != "0" && insecure != "1" {
		return &ArgumentError{opName, envInsecure, "is neither 0 nor 1"}
	}
	c.insecureHTTP = c.insecureHTTP || insecure == "1"
	return c.setKeyFile(opName)
}

// setKeyFile sets keyFunc if PETSTORE_API_KEY_FILE is set. It also reads the file once, so that
// NewClientFromEnv reports a wrong file.
func (c *config) setKeyFile(opName string) error {
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
			problem = strings.TrimPrefix(err.Error(), "key file: ")
		}
	}
	if problem != "" {
		return &ArgumentError{opName, envAPIKeyFile, problem}
	}
	return nil
}

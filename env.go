package petstore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// The environment variables that NewClientFromEnv reads.
const (
	envBaseURL    = "PETSTORE_BASE_URL"
	envAPIKey     = "PETSTORE_API_KEY"
	envAPIKeyFile = "PETSTORE_API_KEY_FILE"
	envInsecure   = "PETSTORE_INSECURE_HTTP"
	envProcesses  = "PETSTORE_PROCESSES"
)

// NewClientFromEnv is [NewClient] with the base URL from PETSTORE_BASE_URL and the key from
// PETSTORE_API_KEY, or from the file at PETSTORE_API_KEY_FILE, which has at most 64 KiB. It is an
// error to set both. White space around the key in the file is ignored. With [WithAPIKeyFunc]
// neither is needed. Errors name the variable and never repeat its value.
//
// PETSTORE_PROCESSES is the number of processes that use the key, this one included: it has the
// effect of WithLimiter(NewLimiter([Processes](n))), unless opts have a [WithLimiter].
//
// PETSTORE_INSECURE_HTTP=1 has the effect of [WithInsecureHTTP], for test deployments without a
// certificate. The key is then sent unencrypted, so never set it together with the key of a real
// service.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	fromEnv, err := optionsFromEnv()
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	config, err := newClientConfig(append(fromEnv, opts...))
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	baseURL := os.Getenv(envBaseURL)
	if baseURL == "" {
		return nil, withOperation(invalid(envBaseURL, "is not set"), "NewClient")
	}
	apiKey, source, err := apiKeyFromEnv()
	if err != nil {
		return nil, withOperation(err, "NewClient")
	}
	if apiKey == "" && config.keyFunc == nil {
		return nil, withOperation(invalid(envAPIKey, "is not set, nor is "+envAPIKeyFile), "NewClient")
	}
	client, err := newClient(baseURL, apiKey, config)
	if e, ok := errors.AsType[*ArgumentError](err); ok {
		e.Argument = cmp.Or(map[string]string{"baseURL": envBaseURL, "apiKey": source}[e.Argument], e.Argument)
	}
	return client, err
}

// optionsFromEnv returns the options that variables stand for.
func optionsFromEnv() (opts []Option, err error) {
	switch os.Getenv(envInsecure) {
	case "", "0":
	case "1":
		opts = append(opts, WithInsecureHTTP())
	default:
		return nil, invalid(envInsecure, "is neither 0 nor 1")
	}
	if text := os.Getenv(envProcesses); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, invalid(envProcesses, "is not a number of processes")
		}
		opts = append(opts, WithLimiter(NewLimiter(Processes(n))))
	}
	return opts, nil
}

// maxKeyFile is the size of the longest key file in bytes. No key is that long; the limit is for a
// device or a log file named by mistake.
const maxKeyFile = 64 << 10

// apiKeyFromEnv returns the key and the name of the variable that it comes from.
func apiKeyFromEnv() (key, source string, err error) {
	key, file := os.Getenv(envAPIKey), os.Getenv(envAPIKeyFile)
	if file == "" {
		return key, envAPIKey, nil
	}
	if key != "" {
		return "", "", invalid(envAPIKeyFile, "is set although "+envAPIKey+" is set")
	}
	text, err := readKeyFile(file)
	if err != nil {
		return "", "", err
	}
	key = strings.TrimSpace(string(text))
	if key == "" {
		return "", "", invalid(envAPIKeyFile, "names an empty file")
	}
	return key, envAPIKeyFile, nil
}

// readKeyFile returns the contents of the file. Its errors do not repeat the path: a user may have
// set the variable to the key itself.
func readKeyFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err == nil {
		defer file.Close()
		text, readErr := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
		if len(text) > maxKeyFile {
			return nil, invalid(envAPIKeyFile, "names a file of more than 64 KiB")
		}
		if err = readErr; err == nil {
			return text, nil
		}
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return nil, fmt.Errorf("%s: %w", envAPIKeyFile, err)
}

package conformance

import (
	"net/http"
	"strings"
)

// The kinds of change that many bugs make.

// limit is the bug that a limit is taken for another; "" is none.
func limit(from, to string) func(*call) {
	return func(c *call) {
		if c.op == "list" && c.query.Get("limit") == from {
			c.query.Set("limit", to)
		}
	}
}

// accepts is the bug that a body which must be refused is changed into one that is accepted.
func accepts(pattern, with string) func(*call) {
	return func(c *call) {
		if c.op == "create" && c.auth != "" {
			swap(&c.body, pattern, with)
		}
	}
}

// admits is the bug that requests are admitted as if they had the key.
func admits(auth func(string) bool) func(*call) {
	return func(c *call) {
		if auth(c.auth) {
			c.auth = goodAuth
		}
	}
}

// shows is a bug in the bodies of successes of an operation, or in all bodies.
func shows(op, pattern, with string) func(*call) {
	return func(c *call) {
		if op == "" || c.op == op && c.status < 300 {
			swap(&c.response, pattern, with)
		}
	}
}

// becomes is the bug that a status of an operation is another.
func becomes(op string, from, to int) func(*call) {
	return func(c *call) {
		if c.op == op && c.status == from {
			c.status = to
		}
	}
}

// header is a bug in a header of responses with a status, or of all; no value takes it away.
func header(status int, name string, value ...string) func(*call) {
	return ofStatus(status, func(c *call) {
		c.header.Del(name)
		for _, v := range value {
			c.header.Set(name, v)
		}
	})
}

func ofStatus(status int, change func(*call)) func(*call) {
	return func(c *call) {
		if status == 0 || c.status == status {
			change(c)
		}
	}
}

func body(status int, text string) func(*call) {
	return ofStatus(status, func(c *call) { c.response = text })
}

func number(header string, change func(int) int) func(*call) {
	return func(c *call) { c.number(header, change) }
}

const (
	listIsArray  = "4.1 an empty list is an array"
	limitClause  = "4.1 limit is the most that is returned"
	togetherText = "4.1 limit and status go together"
	listedText   = "4.1 a pet that was added is listed"
	createText   = "4.2 the body is the pet that was sent, with an id"
	getText      = "4.3 the body is the pet that was asked for"
	fallsText    = "8.2 X-RateLimit-Remaining falls within a window, and does not rise"
)

func bugsOfLists() []shop {
	return []shop{
		{bug: "null for an empty list", clause: listIsArray, after: shows("list", `^\[\]$`, "null")},
		{bug: "no body for an empty list", clause: listIsArray, after: shows("list", `^\[\]$`, "")},
		{bug: "206 for a list", clause: "4.1 success is 200", after: becomes("list", 200, 206)},
		{bug: "a list in an envelope", clause: "4.1 the body is an array of Pet objects", after: shows("list", `(?s)^.*$`, `{"pets":$0}`)},
		{bug: "a list of ids", clause: "4.1 the body is an array of Pet objects", after: shows("list", `(?s)^.*$`, `[1,2]`)},
		{bug: "a default limit of 10", clause: "4.1 limit defaults to 20", before: limit("", "10")},
		{bug: "a default limit of 100", clause: "4.1 limit defaults to 20", before: limit("", "100")},
		{bug: "limit ignored", clause: limitClause, before: func(c *call) { c.query.Del("limit") }},
		{bug: "one pet more than the limit", clause: limitClause, before: limit("1", "2")},
		{bug: "one pet less than the limit", clause: limitClause, before: limit("20", "19")},
		{bug: "limit=1 refused", clause: "4.1 limit may be 1", before: limit("1", "0")},
		{bug: "limit=100 refused", clause: "4.1 limit may be 100", before: limit("100", "101")},
		{bug: "filter ignored with a limit of 1", clause: togetherText, before: func(c *call) {
			if c.query.Get("limit") == "1" {
				c.query.Del("status")
			}
		}},
		{bug: "the limit before the filter", clause: togetherText, after: func(c *call) {
			if c.query.Get("limit") == "1" && c.query.Get("status") == "sold" {
				c.response = "[]"
			}
		}},
		{bug: "pets without a status are left out", clause: listedText, after: shows("list", `,?\{[^{}]*conformance[^{}]*"categoryId":1\}`, "")},
		{bug: "names are cut off in lists", clause: listedText, after: shows("list", `("name":"petstore-go)[^"]*`, "$1")},
	}
}

func bugsOfNewPets() []shop {
	return []shop{
		{bug: "name optional", clause: "2 NewPet/name is required", before: accepts(`^\{"categoryId":1\}$`, aPet)},
		{bug: "name may be a number", clause: "2 NewPet/name is a string", before: accepts(`"name":7`, `"name":"7"`)},
		{bug: "name may be null", clause: "2 NewPet/name is a string", before: accepts(`"name":null`, `"name":"null"`)},
		{bug: "letters are lost in names", clause: "2 NewPet/name keeps all characters", after: shows("", `[^\x00-\x7f]`, "?")},
		{bug: "categoryId optional", clause: "2 NewPet/categoryId is required", before: accepts(`^(\{"name":"[^"]*")\}$`, `$1,"categoryId":1}`)},
		{bug: "categoryId may be a string", clause: "2 NewPet/categoryId is an integer", before: accepts(`"categoryId":"1"`, `"categoryId":1`)},
		{bug: "categoryId may be a fraction", clause: "2 NewPet/categoryId is an integer", before: accepts(`"categoryId":1\.5`, `"categoryId":1`)},
		{bug: "categoryId may be null", clause: "2 NewPet/categoryId is an integer", before: accepts(`"categoryId":null`, `"categoryId":0`)},
		{bug: "categoryId may be any number", clause: "2 NewPet/categoryId is an int64", before: accepts(`9223372036854775808`, `9223372036854775807`)},
		{bug: "categoryId as a float64", clause: "2 NewPet/categoryId keeps all 64 bits", after: shows("", `9223372036854775807`, `9223372036854775808`)},
		{bug: "no categoryId if it is 0", clause: "2 NewPet/categoryId keeps all 64 bits", after: shows("", `,"categoryId":0\b`, "")},
		{bug: "status required", clause: "2 NewPet/status is optional", before: func(c *call) { swap(&c.body, `^\{"name":"[^"]*","categoryId":1\}$`, "{}") }},
		{bug: "any status accepted", clause: "2 NewPet/status is a PetStatus", before: accepts(`"status":"lost"`, `"status":"sold"`)},
		{bug: "status in any case", clause: "2 NewPet/status is a PetStatus", before: accepts(`"status":"Sold"`, `"status":"sold"`)},
		{bug: "status may be a number", clause: "2 NewPet/status is a PetStatus", before: accepts(`"status":7`, `"status":"sold"`)},
		{bug: "status may be null", clause: "2 NewPet/status is a PetStatus", before: accepts(`("name":[^,]*,"categoryId":1),"status":null`, "$1")},
		{bug: "no body needed", clause: "4.2 the request body is required", before: accepts(`^$`, aPet)},
		{bug: "half a body is enough", clause: "4.2 a body that is not JSON is 400", before: accepts(`"categoryId":1$`, `"categoryId":1}`)},
		{bug: "forms accepted", clause: "4.2 a body that is not JSON is 400", before: accepts(`^name=.*`, aPet)},
		{bug: "an empty array accepted", clause: "4.2 a body that is no object is 400", before: accepts(`^\[\]$`, aPet)},
		{bug: "an array of pets accepted", clause: "4.2 a body that is no object is 400", before: accepts(`^\[(.+)\]$`, "$1")},
		{bug: "defaults for all fields", clause: "4.2 a body without the required fields is 400", before: accepts(`^\{\}$`, aPet)},
		{bug: "422 for invalid bodies", clause: "2 NewPet/name is required", after: becomes("create", 400, 422)},
	}
}

func bugsOfPets() []shop {
	return []shop{
		{bug: "ids as floats", clause: "2 Pet/id is an int64", after: shows("", `"id":(\d+)`, `"id":$1.0`)},
		{bug: "ids as strings", clause: "2 Pet/id is an int64", after: shows("", `"id":(\d+)`, `"id":"$1"`)},
		{bug: "ids beyond int64", clause: "2 Pet/id is an int64", after: shows("", `"id":(\d+)`, `"id":1000000000000000000$1`)},
		{bug: "one id in a list", clause: "2 Pet/id is unique", after: shows("list", `"id":\d+`, `"id":0`)},
		{bug: "names missing in lists", clause: "2 Pet/name is a string", after: shows("list", `"name"`, `"title"`)},
		{bug: "categoryId as a string in lists", clause: "2 Pet/categoryId is an int64", after: shows("list", `"categoryId":(\d+)`, `"categoryId":"$1"`)},
		{bug: "status null if there is none", clause: "2 Pet/status is a PetStatus if it is there", after: shows("", `("categoryId":\d+)\}`, `$1,"status":null}`)},
		{bug: "200 for a creation", clause: "4.2 success is 201", after: becomes("create", 201, 200)},
		{bug: "a creation without an id", clause: createText, after: shows("create", `"id":\d+,`, "")},
		{bug: "a creation with another name", clause: createText, after: shows("create", "conformance", "CONFORMANCE")},
		{bug: "a creation that is not shown", clause: createText, after: shows("create", `(?s).+`, "")},
		{bug: "getPet gone too early", clause: "9 getPet stays available until 5 December 2030", after: becomes("get", 200, 404)},
		{bug: "203 for a pet", clause: "4.3 success is 200", after: becomes("get", 200, 203)},
		{bug: "another id", clause: getText, after: shows("get", `"id":\d+`, `"id":1000`)},
		{bug: "always the first pet", clause: getText, before: func(c *call) { c.id = "1" }},
		{bug: "a pet without its status", clause: getText, after: shows("get", `,"status":"available"`, "")},
		{bug: "410 for an unknown pet", clause: "4.3 an unknown pet is 404", after: becomes("get", 404, 410)},
		{bug: "an empty pet for an unknown one", clause: "4.3 an unknown pet is 404", after: ofStatus(404, func(c *call) {
			c.status, c.response = 200, `{"id":0,"name":"","categoryId":0}`
		})},
	}
}

func bugsOfKeys() []shop {
	const parts = "5 a part of a key, or more than a key, is 401"
	return []shop{
		{bug: "the key refused", clause: "5 a valid key is accepted", after: becomes("list", 200, 401)},
		{bug: "Basic accepted", clause: "5 another scheme than Bearer is 401", before: admits(func(auth string) bool { return auth == otherScheme })},
		{bug: "any scheme accepted", clause: "5 another scheme than Bearer is 401", before: admits(func(auth string) bool { return strings.HasPrefix(auth, "Token ") })},
		{bug: "half a key accepted", clause: parts, before: admits(func(auth string) bool { return len(auth) > 8 && strings.HasPrefix(goodAuth, auth) })},
		{bug: "the end of a key ignored", clause: parts, before: admits(func(auth string) bool { return strings.HasPrefix(auth, goodAuth) })},
	}
}

func bugsOfErrors() []shop {
	return []shop{
		{bug: "success without a media type", clause: "1 bodies of successes are application/json", after: header(200, "Content-Type")},
		{bug: "success as text", clause: "1 bodies of successes are application/json", after: header(201, "Content-Type", "text/json")},
		{bug: "errors as text", clause: "7 errors are application/json", after: header(401, "Content-Type", "text/plain")},
		{bug: "400 without a body", clause: "7 a 400 has an Error body", after: body(400, "")},
		{bug: "401 without a body", clause: "7 a 401 has an Error body", after: body(401, "")},
		{bug: "404 without a body", clause: "7 a 404 has an Error body", after: body(404, "")},
		{bug: "a page for an error", clause: "7 a 401 has an Error body", after: body(401, "<html></html>")},
		{bug: "code is a number", clause: "2 Error/code is a string", after: shows("", `"code":"\w+"`, `"code":1`)},
		{bug: "no code", clause: "2 Error/code is a string", after: shows("", `"code":"\w+",`, ``)},
		{bug: "no message", clause: "2 Error/message is a string", after: shows("", `"message":"(?:[^"\\]|\\.)*",`, ``)},
		{bug: "status of errors as a string", clause: "2 Error/status is the HTTP status", after: shows("", `"status":(\d+)`, `"status":"$1"`)},
		{bug: "another status in errors", clause: "2 Error/status is the HTTP status", after: shows("", `"status":401`, `"status":403`)},
	}
}

func bugsOfLimits() []shop {
	return []shop{
		{bug: "403 over the limit", clause: "8.3 a request over the limit is 429 (Destructive)", after: becomes("list", 429, 403)},
		{bug: "no limit", clause: "8.3 a request over the limit is 429 (Destructive)", after: becomes("list", 429, 200)},
		{bug: "429 without Retry-After", clause: "8.3 a 429 carries Retry-After (Destructive)", after: header(429, "Retry-After")},
		{bug: "Retry-After ends too early", clause: "8.3 a request is admitted after Retry-After (Destructive)", after: header(429, "Retry-After", "1")},
		{bug: "a limit that does not end", clause: "8.2 the limit resets at X-RateLimit-Reset (Destructive)", after: func(c *call) {
			// A bubble begins on the minute; a run has used the limit up when the clock shows the next one.
			if date, _ := http.ParseTime(c.header.Get("Date")); date.Minute() > 0 && c.auth != "" {
				c.status, c.response = http.StatusTooManyRequests, ""
				c.header.Set("Retry-After", "60")
			}
		}},
		{bug: "X-RateLimit-Limit missing", clause: "8.2 every response carries X-RateLimit-Limit", after: header(0, headerLimit)},
		{bug: "X-RateLimit-Limit missing on a 401", clause: "8.2 every response carries X-RateLimit-Limit", after: header(401, headerLimit)},
		{bug: "X-RateLimit-Remaining missing", clause: "8.2 every response carries X-RateLimit-Remaining", after: header(0, headerRemaining)},
		{bug: "X-RateLimit-Reset missing", clause: "8.2 every response carries X-RateLimit-Reset", after: header(0, headerReset)},
		{bug: "a limit in words", clause: "8.2 X-RateLimit-Limit is a number of requests", after: header(0, headerLimit, "many")},
		{bug: "remaining below zero", clause: "8.2 X-RateLimit-Remaining is a number of requests", after: header(0, headerRemaining, "-1")},
		{bug: "seconds to go for a reset", clause: "8.2 X-RateLimit-Reset is a Unix timestamp", after: header(0, headerReset, "60")},
		{bug: "a reset in milliseconds", clause: "8.2 X-RateLimit-Reset is a Unix timestamp", after: number(headerReset, func(old int) int { return old * 1000 })},
		{bug: "a date for a reset", clause: "8.2 X-RateLimit-Reset is a Unix timestamp", after: header(0, headerReset, "Sat, 01 Jan 2000 00:01:00 GMT")},
		{bug: "remaining counts up", clause: fallsText, after: number(headerRemaining, func(old int) int { return perMinute - old })},
	}
}

// bugsOfTheDocument were thought up along the document, without a look at the clauses.
func bugsOfTheDocument() []shop {
	return []shop{
		{bug: "404 for an empty catalogue", clause: "4.1 success is 200", after: becomes("list", 200, 404)},
		{bug: "the location of a new pet alone", clause: createText, after: shows("create", `(?s).+`, `{"location":"/v1/pets/1"}`)},
		{bug: "the same id for each new pet", clause: "2 Pet/id is unique", after: shows("create", `"id":\d+`, `"id":1`)},
		{bug: "a new pet is always available", clause: createText, after: shows("create", `"status":"\w+"`, `"status":"available"`)},
		{bug: "a pet is stored twice", clause: listedText, after: shows("list", `(\{"id":)(\d[^{}]*conformance[^{}]*\})`, `$1$2,${1}9$2`)},
		{bug: "getPet returns a list of one", clause: getText, after: shows("get", `(?s)^(.+)$`, "[$1]")},
		{bug: "errors in an envelope", clause: "2 Error/code is a string", after: ofStatus(400, func(c *call) { c.response = `{"errors":[` + c.response + `]}` })},
		{bug: "remaining never falls", clause: fallsText, after: header(0, headerRemaining, "7")},
		{bug: "more remain than the limit", clause: "8.2 X-RateLimit-Remaining is at most X-RateLimit-Limit", after: header(0, headerRemaining, "99999")},
		{bug: "the reset is when the window began", clause: "8.2 X-RateLimit-Reset is not in the past", after: number(headerReset, func(old int) int { return old - 120 })},
	}
}

package conformance

import "net/http"

// bugs has services with one bug each.
var bugs = []shop{
	{bug: "null for an empty list", clause: "4.1 an empty list", op: "listPets", response: swap{`^\[\]$`, "null"}},
	{bug: "no body for an empty list", clause: "4.1 an empty list", op: "listPets", response: swap{`^\[\]$`, ""}},
	{bug: "206 for a list", clause: "4.1 success", op: "listPets", becomes: 206},
	{bug: "a list in an envelope", clause: "4.1 the body is", op: "listPets", response: swap{`(?s)^.*$`, `{"pets":$0}`}},
	{bug: "a list of ids", clause: "4.1 the body is", op: "listPets", response: swap{`(?s)^.*$`, `[1,2]`}},
	{bug: "a default limit of 10", clause: "4.1 limit defaults", limit: swap{"", "10"}},
	{bug: "a default limit of 100", clause: "4.1 limit defaults", limit: swap{"", "100"}},
	{bug: "limit ignored", clause: "4.1 limit is the most", before: func(c *call) { c.query.Del("limit") }},
	{bug: "one pet more than the limit", clause: "4.1 limit is the most", limit: swap{"1", "2"}},
	{bug: "one pet less than the limit", clause: "4.1 limit is the most", limit: swap{"20", "19"}},
	{bug: "limit=1 refused", clause: "4.1 limit may be 1 ", limit: swap{"1", "0"}},
	{bug: "limit=100 refused", clause: "4.1 limit may be 100", limit: swap{"100", "101"}},
	{bug: "filter ignored with a limit of 1", clause: "4.1 limit and status", before: func(c *call) {
		if c.query.Get("limit") == "1" {
			c.query.Del("status")
		}
	}},
	{bug: "the limit before the filter", clause: "4.1 limit and status", after: func(c *call) {
		if c.query.Encode() == "limit=1&status=sold" {
			c.response = "[]"
		}
	}},
	{bug: "pets without a status are left out", clause: "4.1 a pet that was added", op: "listPets", response: swap{`,?\{[^{}]*conformance[^{}]*"categoryId":1\}`, ""}},
	{bug: "names are cut off in lists", clause: "4.1 a pet that was added", op: "listPets", response: swap{`("name":"petstore-go)[^"]*`, "$1"}},

	{bug: "name optional", clause: "2 NewPet/name is required", request: swap{`^\{"categoryId":1\}$`, aPet}},
	{bug: "name may be a number", clause: "2 NewPet/name is a string", request: swap{`"name":7`, `"name":"7"`}},
	{bug: "name may be null", clause: "2 NewPet/name is a string", request: swap{`"name":null`, `"name":"null"`}},
	{bug: "letters are lost in names", clause: "2 NewPet/name keeps", response: swap{`[^\x00-\x7f]`, "?"}},
	{bug: "categoryId optional", clause: "2 NewPet/categoryId is required", request: swap{`^(\{"name":"[^"]*")\}$`, `$1,"categoryId":1}`}},
	{bug: "categoryId may be a string", clause: "2 NewPet/categoryId is an integer", request: swap{`"categoryId":"1"`, `"categoryId":1`}},
	{bug: "categoryId may be a fraction", clause: "2 NewPet/categoryId is an integer", request: swap{`"categoryId":1\.5`, `"categoryId":1`}},
	{bug: "categoryId may be null", clause: "2 NewPet/categoryId is an integer", request: swap{`"categoryId":null`, `"categoryId":0`}},
	{bug: "categoryId may be any number", clause: "2 NewPet/categoryId is an int64", request: swap{`9223372036854775808`, `9223372036854775807`}},
	{bug: "categoryId as a float64", clause: "2 NewPet/categoryId keeps", response: swap{`9223372036854775807`, `9223372036854775808`}},
	{bug: "no categoryId if it is 0", clause: "2 NewPet/categoryId keeps", response: swap{`,"categoryId":0\b`, ""}},
	{bug: "status required", clause: "2 NewPet/status is optional", request: swap{`^\{"name":"[^"]*","categoryId":1\}$`, "{}"}},
	{bug: "any status accepted", clause: "2 NewPet/status is a", request: swap{`"status":"lost"`, `"status":"sold"`}},
	{bug: "status in any case", clause: "2 NewPet/status is a", request: swap{`"status":"Sold"`, `"status":"sold"`}},
	{bug: "status may be a number", clause: "2 NewPet/status is a", request: swap{`"status":7`, `"status":"sold"`}},
	{bug: "status may be null", clause: "2 NewPet/status is a", request: swap{`("name":[^,]*,"categoryId":1),"status":null`, "$1"}},
	{bug: "no body needed", clause: "4.2 the request body", request: swap{`^$`, aPet}},
	{bug: "half a body is enough", clause: "4.2 a body that is not", request: swap{`"categoryId":1$`, `"categoryId":1}`}},
	{bug: "forms accepted", clause: "4.2 a body that is not", request: swap{`^name=.*`, aPet}},
	{bug: "an empty array accepted", clause: "4.2 a body that is no object", request: swap{`^\[\]$`, aPet}},
	{bug: "an array of pets accepted", clause: "4.2 a body that is no object", request: swap{`^\[(.+)\]$`, "$1"}},
	{bug: "defaults for all fields", clause: "4.2 a body without", request: swap{`^\{\}$`, aPet}},
	{bug: "422 for invalid bodies", clause: "2 NewPet/name is required", op: "createPet", status: 400, becomes: 422},

	{bug: "ids as floats", clause: "2 Pet/id is an int64", response: swap{`"id":(\d+)`, `"id":$1.0`}},
	{bug: "ids as strings", clause: "2 Pet/id is an int64", response: swap{`"id":(\d+)`, `"id":"$1"`}},
	{bug: "ids beyond int64", clause: "2 Pet/id is an int64", response: swap{`"id":(\d+)`, `"id":1000000000000000000$1`}},
	{bug: "one id in a list", clause: "2 Pet/id is unique", op: "listPets", response: swap{`"id":\d+`, `"id":0`}},
	{bug: "names missing in lists", clause: "2 Pet/name", op: "listPets", response: swap{`"name"`, `"title"`}},
	{bug: "categoryId as a string in lists", clause: "2 Pet/categoryId", op: "listPets", response: swap{`"categoryId":(\d+)`, `"categoryId":"$1"`}},
	{bug: "status null if there is none", clause: "2 Pet/status", response: swap{`("categoryId":\d+)\}`, `$1,"status":null}`}},
	{bug: "200 for a creation", clause: "4.2 success", op: "createPet", becomes: 200},
	{bug: "a creation without an id", clause: "4.2 the body is", op: "createPet", response: swap{`"id":\d+,`, ""}},
	{bug: "a creation with another name", clause: "4.2 the body is", op: "createPet", response: swap{"conformance", "CONFORMANCE"}},
	{bug: "a creation that is not shown", clause: "4.2 the body is", op: "createPet", response: anything("")},
	{bug: "getPet gone too early", clause: "9 getPet", op: "getPet", becomes: 404},
	{bug: "203 for a pet", clause: "4.3 success", op: "getPet", becomes: 203},
	{bug: "another id", clause: "4.3 the body is", op: "getPet", response: swap{`"id":\d+`, `"id":1000`}},
	{bug: "another name", clause: "4.3 the body is", op: "getPet", response: swap{`"name":"[^"]*"`, `"name":"Max"`}},
	{bug: "always the first pet", clause: "4.3 the body is", before: func(c *call) { c.path = swap{`/\d+$`, "/1"}.in(c.path) }},
	{bug: "a pet without its status", clause: "4.3 the body is", op: "getPet", response: swap{`,"status":"available"`, ""}},
	{bug: "410 for an unknown pet", clause: "4.3 an unknown pet", op: "getPet", status: 404, becomes: 410},
	{bug: "an empty pet for an unknown one", clause: "4.3 an unknown pet", status: 404, becomes: 200, response: anything(`{"id":0,"name":"","categoryId":0}`)},

	{bug: "the key refused", clause: "5 a valid key", op: "listPets", becomes: 401},
	{bug: "Basic accepted", clause: "5 another scheme", admits: "^Basic "},
	{bug: "any scheme accepted", clause: "5 another scheme", admits: "^Token "},
	{bug: "half a key accepted", clause: "5 a part of a key", admits: "^" + goodAuth[:len(goodAuth)-6] + "$"},
	{bug: "the end of a key ignored", clause: "5 a part of a key", admits: "^" + goodAuth},

	{bug: "success without a media type", clause: "1 bodies", status: 200, header: without("Content-Type")},
	{bug: "success as text", clause: "1 bodies", status: 201, header: header("Content-Type", "text/json")},
	{bug: "errors as text", clause: "7 errors", status: 401, header: header("Content-Type", "text/plain")},
	{bug: "400 without a body", clause: "7 a 400", status: 400, response: anything("")},
	{bug: "401 without a body", clause: "7 a 401", status: 401, response: anything("")},
	{bug: "404 without a body", clause: "7 a 404", status: 404, response: anything("")},
	{bug: "a page for an error", clause: "7 a 401", status: 401, response: anything("<html></html>")},
	{bug: "code is a number", clause: "2 Error/code", response: swap{`"code":"\w+"`, `"code":1`}},
	{bug: "no code", clause: "2 Error/code", response: swap{`"code":"\w+",`, ``}},
	{bug: "no message", clause: "2 Error/message", response: swap{`"message":"(?:[^"\\]|\\.)*",`, ``}},
	{bug: "status of errors as a string", clause: "2 Error/status", response: swap{`"status":(\d+)`, `"status":"$1"`}},
	{bug: "another status in errors", clause: "2 Error/status", response: swap{`"status":401`, `"status":403`}},

	{bug: "403 over the limit", clause: "8.3 a request over", op: "listPets", status: 429, becomes: 403},
	{bug: "no limit", clause: "8.3 a request over", op: "listPets", status: 429, becomes: 200},
	{bug: "429 without Retry-After", clause: "8.3 a 429", status: 429, header: without("Retry-After")},
	{bug: "Retry-After ends too early", clause: "8.3 a request is admitted", status: 429, header: header("Retry-After", "1")},
	{bug: "a limit that does not end", clause: "8.2 the limit resets", after: func(c *call) {
		// A bubble begins on a whole minute. By the time the clock shows the next minute, a run has used
		// up the limit.
		if date, _ := http.ParseTime(c.header.Get("Date")); date.Minute() > 0 && c.auth != "" {
			c.status, c.response = http.StatusTooManyRequests, ""
			c.header.Set("Retry-After", "60")
		}
	}},
	{bug: "no limit shown", clause: "8.2 every response carries X-RateLimit-Limit", header: without(headerLimit)},
	{bug: "no limit shown to strangers", clause: "8.2 every response carries X-RateLimit-Limit", status: 401, header: without(headerLimit)},
	{bug: "no rest shown", clause: "8.2 every response carries X-RateLimit-Remaining", header: without(headerRemaining)},
	{bug: "no reset shown", clause: "8.2 every response carries X-RateLimit-Reset", header: without(headerReset)},
	{bug: "a limit in words", clause: "8.2 X-RateLimit-Limit is", header: header(headerLimit, "many")},
	{bug: "remaining below zero", clause: "8.2 X-RateLimit-Remaining is a number", header: header(headerRemaining, "-1")},
	{bug: "seconds to go for a reset", clause: "8.2 X-RateLimit-Reset is a Unix", header: header(headerReset, "60")},
	{bug: "a date for a reset", clause: "8.2 X-RateLimit-Reset is a Unix", header: header(headerReset, "Sat, 01 Jan 2000 00:01:00 GMT")},
	{bug: "a reset in milliseconds", clause: "8.2 X-RateLimit-Reset is a Unix", after: func(c *call) { c.number(headerReset, 1000, 1, 0) }},
	{bug: "remaining counts up", clause: "8.2 X-RateLimit-Remaining falls", after: func(c *call) { c.number(headerRemaining, -1, 1, perMinute) }},

	// These bugs were invented from the document alone, without a look at the clauses.
	{bug: "404 for an empty catalogue", clause: "4.1 success", op: "listPets", becomes: 404},
	{bug: "the location of a new pet alone", clause: "4.2 the body is", op: "createPet", response: anything(`{"location":"/v1/pets/1"}`)},
	{bug: "the same id for each new pet", clause: "2 Pet/id is unique", op: "createPet", response: swap{`"id":\d+`, `"id":1`}},
	{bug: "a new pet is always available", clause: "4.2 the body is", op: "createPet", response: swap{`"status":"\w+"`, `"status":"available"`}},
	{bug: "a pet is stored twice", clause: "4.1 a pet that was added", op: "listPets", response: swap{`(\{"id":)(\d[^{}]*conformance[^{}]*\})`, `$1$2,${1}9$2`}},
	{bug: "getPet returns a list of one", clause: "4.3 the body is", op: "getPet", response: swap{`(?s)^(.+)$`, "[$1]"}},
	{bug: "errors in an envelope", clause: "2 Error/code", status: 400, response: swap{`(?s)^(.+)$`, `{"errors":[$1]}`}},
	{bug: "remaining never falls", clause: "8.2 X-RateLimit-Remaining falls", header: header(headerRemaining, "7")},
	{bug: "more remain than the limit", clause: "8.2 X-RateLimit-Remaining is at most", header: header(headerRemaining, "99999")},
	{bug: "the reset is when the window began", clause: "8.2 X-RateLimit-Reset is not", after: func(c *call) { c.number(headerReset, 1, 1, -120) }},
}

// different has services that, where the document is silent, choose otherwise than the fake and its
// variants. No clause may fail.
var different = []shop{
	{bug: "more fields in pets", response: swap{`"id":(\d+)`, `"id":$1,"breed":null,"photos":[{"id":"7"}]`}},
	{bug: "more fields in errors", response: swap{`"code":"(\w+)"`, `"code":"$1","details":[]`}},
	{bug: "other codes", response: swap{`"code":"\w+"`, `"code":"E-17"`}},
	{bug: "indented bodies", response: swap{`([,{\[])"`, "$1\n  \""}},
	{bug: "escapes in names", response: swap{`petstore-go conformance`, `petstore\u002dgo conformance`}},
	{bug: "a charset", header: header("Content-Type", "Application/JSON; charset=UTF-8")},
	{bug: "no challenge", header: without("Www-Authenticate")},
	{bug: "no Date", header: without("Date")},
	{bug: "no quota shown", header: http.Header{headerLimit: {"2147483647"}, headerRemaining: {"2147483647"}}},
	{bug: "a quota in strides", after: func(c *call) { c.number(headerRemaining, 1, 10, 0) }},
	{bug: "a limit of a day", after: func(c *call) { c.number(headerReset, 1, 1, 86_400) }},
	{bug: "pages of ten at most", before: func(c *call) {
		if n := c.query.Get("limit"); n == "" || len(n) > 1 {
			c.query.Set("limit", "10")
		}
	}},
	{bug: "categories that are known", request: swap{`.*"categoryId":(-?\d{5,}|0).*`, "{}"}},
	{bug: "plain names", request: swap{`.*[^\x00-\x7f].*`, "{}"}},
	{bug: "names that are unique", before: refuseTaken(make(map[string]bool))},
	{bug: "a default status in lists", op: "listPets", response: swap{`("categoryId":\d+)\}`, `$1,"status":"available"}`}},
	{bug: "more about a 429", status: 429, response: anything("slow down"), header: http.Header{"Content-Type": {"text/plain"}, "Retry-After": {"1.5, 90"}}},
}

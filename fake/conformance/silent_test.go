package conformance

import (
	"net/http"
	"regexp"
)

// different are services that make other choices than the fake and its variants where the document
// is silent. No clause may fail.
func different() []shop {
	given := make(map[string]bool)
	return []shop{
		{bug: "more fields in pets", after: shows("", `"id":(\d+)`, `"id":$1,"breed":null,"photos":[{"id":"7"}]`)},
		{bug: "more fields in errors", after: shows("", `"code":"(\w+)"`, `"code":"$1","details":[]`)},
		{bug: "other codes", after: shows("", `"code":"\w+"`, `"code":"E-17"`)},
		{bug: "indented bodies", after: shows("", `([,{\[])"`, "$1\n  \"")},
		{bug: "escapes in names", after: shows("", `petstore-go conformance`, `petstore\u002dgo conformance`)},
		{bug: "a charset", after: header(0, "Content-Type", "Application/JSON; charset=UTF-8")},
		{bug: "no challenge", after: header(0, "Www-Authenticate")},
		{bug: "no Date", after: header(0, "Date")},
		{bug: "no quota shown", after: func(c *call) {
			c.header.Set(headerLimit, "2147483647")
			c.header.Set(headerRemaining, "2147483647")
		}},
		{bug: "a quota in strides", after: number(headerRemaining, func(old int) int { return old / 10 * 10 })},
		{bug: "a limit of a day", after: number(headerReset, func(old int) int { return old + 86_400 })},
		{bug: "pages of ten at most", before: func(c *call) {
			if n := c.query.Get("limit"); n == "" || len(n) > 1 {
				c.query.Set("limit", "10")
			}
		}},
		{bug: "categories that are known", before: func(c *call) { swap(&c.body, `.*"categoryId":(-?\d{5,}|0).*`, "{}") }},
		{bug: "plain names", before: func(c *call) { swap(&c.body, `.*[^\x00-\x7f].*`, "{}") }},
		{bug: "names that are unique", before: func(c *call) {
			name := regexp.MustCompile(`"name":"[^"]*"`).FindString(c.body)
			if given[name] {
				c.body = "{}"
			}
			given[name] = name != ""
		}},
		{bug: "a default status in lists", after: shows("list", `("categoryId":\d+)\}`, `$1,"status":"available"}`)},
		{bug: "more about a 429", after: ofStatus(http.StatusTooManyRequests, func(c *call) {
			c.response = "slow down"
			c.header.Set("Content-Type", "text/plain")
			c.header.Set("Retry-After", "1.5, 90")
		})},
	}
}

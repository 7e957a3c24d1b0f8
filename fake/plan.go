package fake

import (
	"fmt"
	"slices"
	"strings"
)

// Plan is what an API key may send (section 8.1). The zero Plan has no limits.
type Plan struct {
	// Name is what the message of a 429 calls the plan.
	Name string
	// PerMinute and PerDay are numbers of requests; 0 is unlimited.
	PerMinute, PerDay int
}

// The plans of section 8.1. [Enterprise] makes the fourth.
var (
	PlanFree     = Plan{"Free", 60, 1_000}
	PlanPro      = Plan{"Pro", 300, 10_000}
	PlanBusiness = Plan{"Business", 1_000, 100_000}
)

// namedPlans returns the plans whose names say everything.
func namedPlans() []Plan { return []Plan{PlanFree, PlanPro, PlanBusiness} }

// Enterprise returns the Enterprise plan with custom limits, 0 for unlimited. A server refuses a
// plan with negative limits.
func Enterprise(perMinute, perDay int) Plan { return Plan{"Enterprise", perMinute, perDay} }

// String returns the plan as the program petstore-fake reads it: free, pro, business, or
// enterprise:M,D with the requests per minute and per day of any other plan.
func (p Plan) String() string {
	if slices.Contains(namedPlans(), p) {
		return strings.ToLower(p.Name)
	}
	return fmt.Sprintf("enterprise:%d,%d", p.PerMinute, p.PerDay)
}

// mustBePlan panics on a plan with a negative limit, which would be taken for no limit.
func mustBePlan(where string, p Plan) {
	must(p.PerMinute >= 0 && p.PerDay >= 0, where,
		"plan %s allows %d requests per minute and %d per day; no limit is written 0",
		quote(p.Name), p.PerMinute, p.PerDay)
}

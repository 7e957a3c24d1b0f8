package fake

import (
	"fmt"
	"slices"
	"strconv"
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

// String returns the plan as [ParsePlan] reads it: free, pro, business, or enterprise:M,D with the
// requests per minute and per day of any other plan.
func (p Plan) String() string {
	if slices.Contains(namedPlans(), p) {
		return strings.ToLower(p.Name)
	}
	return fmt.Sprintf("enterprise:%d,%d", p.PerMinute, p.PerDay)
}

// ParsePlan reads the name of a plan in any case: free, pro, business, or enterprise:M,D with the
// requests per minute and per day, 0 for unlimited.
func ParsePlan(text string) (Plan, error) {
	var names []string
	for _, p := range namedPlans() {
		if strings.EqualFold(text, p.Name) {
			return p, nil
		}
		names = append(names, p.String())
	}
	custom, ok := strings.CutPrefix(strings.ToLower(text), "enterprise:")
	if !ok {
		return Plan{}, fmt.Errorf("fake: ParsePlan: there is no plan %s; it is %s or enterprise:M,D",
			quote(text), strings.Join(names, ", "))
	}
	perMinute, perDay, ok := strings.Cut(custom, ",")
	m, err1 := strconv.Atoi(perMinute)
	d, err2 := strconv.Atoi(perDay)
	if !ok || err1 != nil || err2 != nil || m < 0 || d < 0 {
		return Plan{}, fmt.Errorf("fake: ParsePlan: %s is not enterprise:M,D with the requests per"+
			" minute and per day, such as enterprise:2000,500000; 0 is unlimited", quote(text))
	}
	return Enterprise(m, d), nil
}

// mustBePlan panics on a plan with a negative limit, which would be taken for no limit.
func mustBePlan(where string, p Plan) {
	if p.PerMinute < 0 || p.PerDay < 0 {
		misuse(where, "plan %s allows %d requests per minute and %d per day; no limit is written 0",
			quote(p.Name), p.PerMinute, p.PerDay)
	}
}

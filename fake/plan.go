package fake

import (
	"fmt"
	"strings"
)

// Plan is what an API key may send (section 8.1): numbers of requests, of which 0 is unlimited. An
// Enterprise plan is a literal, such as Plan{PerMinute: 2_000}.
type Plan struct {
	PerMinute int `json:"perMinute"`
	PerDay    int `json:"perDay"`
}

// The plans of section 8.1 that have a name of their own.
var (
	PlanFree     = Plan{60, 1_000}
	PlanPro      = Plan{300, 10_000}
	PlanBusiness = Plan{1_000, 100_000}
)

// planNames are the names of the plans with fixed limits.
var planNames = map[Plan]string{PlanFree: "free", PlanPro: "pro", PlanBusiness: "business"}

// String returns the plan as UnmarshalText reads it.
func (p Plan) String() string {
	if name, found := planNames[p]; found {
		return name
	}
	return fmt.Sprintf("enterprise:%d,%d", p.PerMinute, p.PerDay)
}

// UnmarshalText reads free, pro, business or enterprise:M,D, in any case, where M and D are the
// requests per minute and per day, 0 for unlimited.
func (p *Plan) UnmarshalText(text []byte) error {
	name := strings.ToLower(string(text))
	for plan, known := range planNames {
		if name == known {
			*p = plan
			return nil
		}
	}
	var perMinute, perDay uint32
	_, _ = fmt.Sscanf(name, "enterprise:%d,%d", &perMinute, &perDay)
	if name != fmt.Sprintf("enterprise:%d,%d", perMinute, perDay) {
		return fmt.Errorf("there is no plan %s; it is free, pro, business or enterprise:M,D: the requests"+
			" per minute and per day, such as enterprise:2000,500000; 0 is unlimited", quote(string(text)))
	}
	*p = Plan{int(perMinute), int(perDay)}
	return nil
}

// problem returns an error for a negative limit, which would be taken for no limit.
func (p Plan) problem() error {
	if p.PerMinute < 0 || p.PerDay < 0 {
		return fmt.Errorf("the plan allows %d requests per minute and %d per day; no limit is written 0", p.PerMinute, p.PerDay)
	}
	return nil
}

func mustBePlan(where string, p Plan) { check(where, p.problem()) }

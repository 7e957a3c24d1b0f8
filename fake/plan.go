package fake

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

// Enterprise returns the Enterprise plan with custom limits, 0 for unlimited.
func Enterprise(perMinute, perDay int) Plan { return Plan{"Enterprise", perMinute, perDay} }

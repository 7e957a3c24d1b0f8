package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/fake"
)

const enterprise = "enterprise:"

// ParsePlan reads the name of a plan (section 8.1).
func ParsePlan(text string) (fake.Plan, error) {
	name := strings.ToLower(text)
	for _, p := range []fake.Plan{fake.PlanFree, fake.PlanPro, fake.PlanBusiness} {
		if name == strings.ToLower(p.Name) {
			return p, nil
		}
	}
	custom, ok := strings.CutPrefix(name, enterprise)
	if !ok {
		return fake.Plan{}, fmt.Errorf(
			"there is no plan %q; it is free, pro, business or enterprise:M,D", Clip(text))
	}
	perMinute, perDay, ok := strings.Cut(custom, ",")
	m, err1 := strconv.Atoi(perMinute)
	d, err2 := strconv.Atoi(perDay)
	if !ok || err1 != nil || err2 != nil || m < 0 || d < 0 {
		return fake.Plan{}, fmt.Errorf("%q is not enterprise:M,D with the requests per minute and"+
			" per day, such as enterprise:2000,500000; 0 is unlimited", Clip(text))
	}
	return fake.Enterprise(m, d), nil
}

// PlanText is what ParsePlan reads.
func PlanText(p fake.Plan) string {
	switch p {
	case fake.PlanFree, fake.PlanPro, fake.PlanBusiness:
		return strings.ToLower(p.Name)
	}
	return fmt.Sprintf("%s%d,%d", enterprise, p.PerMinute, p.PerDay)
}

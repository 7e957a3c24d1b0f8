package quota_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// The first response shows that one request is left. The second request takes it, and the third has
// to wait for the next window.
func Example() {
	budget := quota.Budget{Processes: 1}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

	first, _, _ := budget.Admit(now, false)
	budget.Settle(first, &quota.Observation{
		Sent: now, Received: now, StatusCode: http.StatusOK, Date: now,
		RateLimit: quota.RateLimit{Limit: 60, Remaining: 1, Reset: now.Add(40 * time.Second)},
	}, now)

	_, _, admitted := budget.Admit(now, false)
	fmt.Println("second request admitted:", admitted)
	_, wait, admitted := budget.Admit(now, false)
	fmt.Println("third request admitted:", admitted, wait.Reason, wait.Until.Sub(now))
	// Output:
	// second request admitted: true
	// third request admitted: false minute 41s
}

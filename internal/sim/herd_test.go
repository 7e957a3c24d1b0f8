package sim

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/petstore/petstore-go/fake"
)

func TestHerds(t *testing.T) {
	for _, n := range []int{2, 4, 8, 32, 100} {
		for _, window := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
			for _, plan := range []int{60, 300, 1000} {
				for _, each := range []int{1, 32} {
					c := cell{condition{name: fmt.Sprint("herd", n), clients: n, unaware: true}, window, plan, n * each, *seed}
					t.Run(c.String(), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							r := run(c, contenders()[0])
							fmt.Printf("HERD %d %s %d %d: rejected %d worst %d bans %d ratio %.3f\n", n, windowName(window), plan, each, len(r.rejected), r.worstWindow(), r.bans, r.ratio())
						})
					})
				}
			}
		}
	}
}

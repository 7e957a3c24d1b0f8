package sim

import "github.com/petstore/petstore-go/fake"

// sweep returns the cells: every condition with every window, plan and number of goroutines.
func sweep(seed uint64) []cell {
	var cells []cell
	for _, condition := range conditions() {
		for _, window := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
			for _, perMinute := range []int{60, 300, 1_000} {
				for _, goroutines := range []int{1, 8, 64, 512} {
					cells = append(cells, cell{condition, window, perMinute, goroutines, seed})
				}
			}
		}
	}
	return cells
}

// listed reports whether the cell has a row of its own in the table: all of the document's
// condition, of the others one for each window.
func (c cell) listed() bool {
	return c.condition.name == plain ||
		c.window == fake.WindowFixed && c.perMinute == 60 && c.goroutines == 8 ||
		c.window == fake.WindowAligned && c.perMinute == 300 && c.goroutines == 64 ||
		c.window == fake.WindowSliding && c.perMinute == 1_000 && c.goroutines == 512
}

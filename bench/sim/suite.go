package sim

import (
	"fmt"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// suite is the cells and the contenders of one table of the document.
type suite struct {
	name       string
	contenders []contender
	ours       int // the first contenders, which are held to the figures
	figure     func(c cell, contender int) figure
	cells      []cell
	compared   func(cell) bool // reports whether the other contenders run in a cell

	heading string            // of what label returns
	label   func(cell) string // cells with equal labels share a line
	entry   func(total) string
}

// grid returns a cell of a condition for each window and plan.
func grid(k condition, seed uint64) []cell {
	var cells []cell
	for _, window := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
		for _, perMinute := range []int{60, 300, 1_000} {
			cells = append(cells, cell{condition: k, window: window, perMinute: perMinute, seed: seed})
		}
	}
	return cells
}

// defaultSeed is that of the tests.
const defaultSeed = 1

// suites returns all of them.
func suites(seed uint64) []suite {
	return []suite{jobs(seed), loads(seed), bursts(seed), herds(seed), fleets(seed)}
}

// jobs has every condition with every window, plan and number of goroutines.
func jobs(seed uint64) suite {
	s := suite{
		name: "job", contenders: contenders(), ours: 1, figure: cell.jobFigure, compared: cell.listed,
		heading: "condition", entry: jobEntry, label: func(c cell) string { return c.condition.text },
	}
	for _, k := range conditions() {
		for _, c := range grid(k, seed) {
			if k.hidden && c.window == fake.WindowSliding {
				continue // no header shows that the day slides: no client can know
			}
			for _, c.goroutines = range []int{1, 8, 64, 512} {
				s.cells = append(s.cells, c)
			}
		}
	}
	return s
}

func always(cell) bool { return true }

// listed reports whether all contenders run in the cell: in each of the document's condition, of the
// others in one for each window.
func (c cell) listed() bool {
	return c.condition.name == plain ||
		c.window == fake.WindowFixed && c.perMinute == 60 && c.goroutines == 8 ||
		c.window == fake.WindowAligned && c.perMinute == 300 && c.goroutines == 64 ||
		c.window == fake.WindowSliding && c.perMinute == 1_000 && c.goroutines == 512
}

// exampleCell is the usual cell.
func exampleCell(seed uint64) cell {
	return cell{condition: conditions()[0], perMinute: 300, goroutines: 64, seed: seed}
}

// loads has every pattern with every window and plan, for a fifth and a half of it, by one,
// two and eight programs.
func loads(seed uint64) suite {
	s := suite{
		name: "load", contenders: contenders(), ours: 1, figure: cell.loadFigure, compared: always,
		heading: "load", entry: loadEntry, label: func(c cell) string { return c.load.text },
	}
	for _, p := range patterns() {
		k := condition{name: p.name, cancels: p.impatient, slow: p.slow, slowBy: 25 * time.Second, banAfter: strictBan}
		for _, c := range grid(k, seed) {
			for _, percent := range []int{20, 50} {
				for _, programs := range []int{1, 2, 8} {
					if p.short && programs == 8 || p.batch*programs > c.perMinute {
						continue // who starts them makes no difference; and together they may ask for too much
					}
					c.load = load{p, percent, programs}
					s.cells = append(s.cells, c)
				}
			}
		}
	}
	return s
}

// herds has processes that start at the same time and share a job, each with eight goroutines and
// without knowing of the others.
func herds(seed uint64) suite {
	all := contenders()
	told := contender{
		name: "petstore-go, told", text: "with `NewLimiter(Processes(n))`", program: petstoreProgram(true),
	}
	s := suite{
		name: "herd", contenders: append([]contender{all[0], told}, all[1:]...), ours: 2,
		figure: cell.herdFigure, compared: func(c cell) bool { return c.condition.clients == 8 },
		heading: "processes", entry: jobEntry,
		label: func(c cell) string { return fmt.Sprint(c.condition.clients) },
	}
	for _, n := range []int{2, 4, 8, 32, 100} {
		for _, c := range grid(condition{name: fmt.Sprintf("herd-%d", n), clients: n, unaware: true}, seed) {
			c.goroutines = 8 * n
			s.cells = append(s.cells, c)
		}
	}
	return s
}

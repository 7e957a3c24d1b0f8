package journal

import "fmt"

// Position is how far the changes of a journal were read. The zero Position belongs to no journal.
type Position struct {
	// Journal is its number: each process and each clearing begins another.
	Journal int64
	// Change is the number of the last change.
	Change int64
}

// String returns the position as the id of an event.
func (p Position) String() string { return fmt.Sprintf("%x-%x", p.Journal, p.Change) }

// ParsePosition reads the id of an event. It returns the zero position for any other text.
func ParsePosition(id string) (p Position) {
	if _, err := fmt.Sscanf(id, "%x-%x", &p.Journal, &p.Change); err != nil || p.String() != id {
		return Position{}
	}
	return p
}

// Since reads the changes of the fake's journal, and returns the seqs of the requests that changed
// after a position, in order, and the position of the last change. It reports false for a position
// of another journal.
func (j *Journal) Since(p Position) (seqs []int, now Position, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.update()
	if p.Journal != j.at.Journal || p.Change > j.at.Change {
		return nil, j.at, false
	}
	for i, one := range j.list {
		if one.changed > p.Change {
			seqs = append(seqs, j.first+i)
		}
	}
	return seqs, j.at, true
}

package schedule

import (
	"container/heap"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

// entry is one schedule of the table.
type entry struct {
	*desired.Schedule
	instants desired.Instants
	record   *record
	// next is when something is to be decided; zero for never. place is where it stands in the heap, -1 outside.
	next  time.Time
	place int
}

// table is the schedules that fire, with the one that is due first at the top of a heap.
type table struct {
	entries map[desired.Key]*entry
	heap    dueHeap
}

func newTable() table { return table{entries: map[desired.Key]*entry{}} }

// plan sets when an entry is due.
func (t *table) plan(e *entry, next time.Time) {
	e.next = next
	switch {
	case next.IsZero() && e.place >= 0:
		heap.Remove(&t.heap, e.place)
	case next.IsZero():
	case e.place >= 0:
		heap.Fix(&t.heap, e.place)
	default:
		heap.Push(&t.heap, e)
	}
}

// first returns the entry that is due first; nil where none is.
func (t *table) first() *entry {
	if len(t.heap) == 0 {
		return nil
	}
	return t.heap[0]
}

// soonest returns the next few instants, in order. It looks at no more of the heap than they take.
func (t *table) soonest() []Upcoming {
	const most = 5
	if len(t.heap) == 0 {
		return nil
	}
	var out []Upcoming
	open := []int{0}
	for len(out) < most && len(open) > 0 {
		best := 0
		for i := range open {
			if t.heap.Less(open[i], open[best]) {
				best = i
			}
		}
		place := open[best]
		open[best] = open[len(open)-1]
		open = open[:len(open)-1]
		for child := 2*place + 1; child <= 2*place+2 && child < len(t.heap); child++ {
			open = append(open, child)
		}
		e := t.heap[place]
		out = append(out, Upcoming{Key: e.Key, At: e.next})
	}
	return out
}

// dueHeap is a heap by what is due; schedules of one instant come by name.
//
//nolint:recvcheck // container/heap: only Push and Pop change the slice's length
type dueHeap []*entry

// Len is that of the heap.
func (h dueHeap) Len() int { return len(h) }

// Less orders by instant, then by namespace and name.
func (h dueHeap) Less(i, j int) bool {
	if c := h[i].next.Compare(h[j].next); c != 0 {
		return c < 0
	}
	return h[i].Key.Compare(h[j].Key) < 0
}

// Swap exchanges two entries.
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push adds an entry at the end.
func (h *dueHeap) Push(x any) {
	e, ok := x.(*entry)
	if !ok {
		return
	}
	e.place = len(*h)
	*h = append(*h, e)
}

// Pop takes the last entry.
func (h *dueHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	e.place = -1
	*h = old[:len(old)-1]
	return e
}
